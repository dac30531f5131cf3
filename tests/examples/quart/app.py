from quart import Quart

app = Quart(__name__)
