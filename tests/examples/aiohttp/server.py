from aiohttp import web

if __name__ == "__main__":
    web.run_app(web.Application(), port=8081)
