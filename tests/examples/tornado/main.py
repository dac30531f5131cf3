import tornado.web

app = tornado.web.Application([])

if __name__ == "__main__":
    app.listen(8889)
