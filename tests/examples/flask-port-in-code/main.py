from flask import Flask

server = Flask(__name__)

if __name__ == "__main__":
    server.run(port=8085)
