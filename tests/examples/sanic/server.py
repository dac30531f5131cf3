from sanic import Sanic

app = Sanic("Example")
