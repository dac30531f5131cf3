require("node:http").createServer((_, res) => res.end("ok")).listen(8123);
