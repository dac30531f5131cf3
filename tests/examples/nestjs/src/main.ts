import { NestFactory } from "@nestjs/core";

NestFactory.create(class {}).then((app) => app.listen(process.env.PORT ?? 3000));
