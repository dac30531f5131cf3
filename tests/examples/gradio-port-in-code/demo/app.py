import gradio as gr

gr.Blocks().launch(server_port=7861)
