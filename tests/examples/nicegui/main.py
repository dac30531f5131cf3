from nicegui import ui

ui.label("Example")
ui.run()
