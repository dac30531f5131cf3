from http.server import HTTPServer, SimpleHTTPRequestHandler

if __name__ == "__main__":
    HTTPServer(("", 8765), SimpleHTTPRequestHandler).serve_forever()
