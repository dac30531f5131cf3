import Fastify from "fastify";

const port = Number(process.env.PORT ?? 3010);
Fastify().listen({ port });
