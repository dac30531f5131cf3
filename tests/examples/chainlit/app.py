import chainlit as cl


@cl.on_message
async def main(message):
    await message.send()
