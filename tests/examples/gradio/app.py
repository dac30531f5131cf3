import gradio as gr

gr.Interface(fn=str.upper, inputs="text", outputs="text").launch()
