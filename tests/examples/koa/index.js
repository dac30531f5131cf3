const Koa = require("koa");

new Koa().listen(3030);
