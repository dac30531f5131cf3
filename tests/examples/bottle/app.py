from bottle import route, run


@route("/")
def index():
    return "ok"


run(host="localhost", port=8082)
