"""The table of Node frameworks: how each one's dev server is called, where it listens, what it says when it fails."""

import re
from dataclasses import dataclass, field

from bot.buildpacks.buildpack import Role
from bot.buildpacks.words import words

BLOCKED_HOST = {
    "This host is not allowed": "Allow the preview's host in the dev server (Vite: server.allowedHosts).",
    "Invalid Host header": "Allow the preview's host in the dev server (webpack: devServer.allowedHosts).",
}
BROKEN_BUNDLE = {
    "Failed to compile": "The bundler could not compile this commit; its log says which file.",
    "Module not found: Error": "A module that the code imports is not installed.",
}
VITE_BROKEN = {"vite-error-overlay": "Vite could not compile this commit; its log says which file."}
NEXT_BROKEN = {'"page":"/_error","query":{},"buildId":"development"': "The page throws while rendering; see the log."}

VITE_FLOORS = {8: "^20.19.0 || >=22.12.0", 7: "^20.19.0 || >=22.12.0", 6: "^18.0.0 || ^20.0.0 || >=22.0.0", 5: ">=18"}
NEXT_FLOORS = {16: ">=20.9.0", 15: ">=18.18.0", 14: ">=18.17.0", 13: ">=16.14.0"}
ANGULAR_FLOORS = {
    22: "^22.22.0 || ^24.13.0 || >=26",
    21: "^20.19.0 || ^22.12.0 || >=24.0.0",
    20: "^20.19.0 || ^22.12.0 || >=24.0.0",
    19: "^18.19.1 || ^20.11.1 || >=22.0.0",
    18: "^18.19.1 || ^20.11.1 || >=22.0.0",
}

_NOT_SERVING = frozenset(
    words(
        "build preview check sync optimize lint info start export test init add remove telemetry typegen prepare "
        "generate analyze deploy clean help version codegen upgrade module typecheck watch new create package info "
        "bundle"
    )
)
"""Words after a tool's name that make its call something else than a dev server."""


@dataclass(frozen=True, slots=True)
class Framework:
    """One row. `commands` are the words with which its dev server is called; the first is how we would call it.

    `hmr` is the path and subprotocol of the live-reload socket, given only where a plain upgrade is answered at a path
    that stays: Vite asks a client that sends an `Origin` for a token from the page, and accepts one that sends none
    (https://github.com/vitejs/vite/security/advisories/GHSA-vg6x-rcgg-rjx6); Next moves its path between releases.
    """

    kind: str
    title: str
    packages: tuple[str, ...]
    commands: tuple[str, ...]
    port: int
    role: Role = Role.SITE
    config: tuple[str, ...] = ()
    port_block: str = "server"
    """The object in the configuration file that holds the port."""
    reads_port: bool = False
    """Whether the dev server listens on PORT when it is set."""
    hmr: tuple[str, str | None] | None = None
    hmr_since: int = 0
    """The first major version of the first package that listens there."""
    failure_signs: dict[str, str] = field(default_factory=dict)
    floors: dict[int, str] = field(default_factory=dict)
    """The Node versions that a major version of the first package asks for (its `engines`)."""
    reloads: bool = True
    env: dict[str, str] = field(default_factory=dict)
    needs_package: bool = False
    """Whether the command alone says nothing: a task runner serves only when a package for it is installed."""

    def calls(self, words: tuple[str, ...]) -> bool:
        """Whether this command line starts the dev server (and does not build, check or preview a build)."""
        plain = [word for word in words if not word.startswith("-")]
        plain[:1] = [re.sub(r"(?<=.)@.*$", "", plain[0].rpartition("/")[2])] if plain else []
        for command in self.commands:
            parts = [word for word in command.split() if not word.startswith("-")]
            flags = {word for word in command.split() if word.startswith("-")}
            if plain[: len(parts)] == parts and flags <= set(words):
                return len(parts) > 1 or bool(flags) or plain[1:2] == [] or plain[1] not in _NOT_SERVING
        return False


def _vite(kind: str, title: str, packages: str, commands: str = "vite", **more: object) -> Framework:
    row: dict[str, object] = {
        "port": 5173,
        "config": ("vite.config.ts", "vite.config.js", "vite.config.mts", "vite.config.mjs"),
        "hmr": ("/", "vite-hmr"),
        "failure_signs": BLOCKED_HOST | VITE_BROKEN,
    } | more
    names = tuple(commands.split("|"))
    return Framework(kind=kind, title=title, packages=tuple(packages.split()), commands=names, **row)  # type: ignore[arg-type]


def _webpack(kind: str, title: str, packages: str, commands: str, port: int, **more: object) -> Framework:
    row: dict[str, object] = {"port_block": "devServer", "failure_signs": BLOCKED_HOST | BROKEN_BUNDLE} | more
    names = tuple(commands.split("|"))
    return Framework(kind, title, tuple(packages.split()), names, port, **row)  # type: ignore[arg-type]


_ASTRO = ("astro.config.mjs", "astro.config.ts", "astro.config.js", "astro.config.mts")
_NUXT = ("nuxt.config.ts", "nuxt.config.js", "nuxt.config.mjs")

FRAMEWORKS: tuple[Framework, ...] = (
    # Frameworks with a command of their own come before the bundlers on which they stand.
    Framework(
        "nextjs", "Next.js", ("next",), ("next dev", "next"), 3000, reads_port=True,
        failure_signs=NEXT_BROKEN | BROKEN_BUNDLE, floors=NEXT_FLOORS,
    ),
    Framework(
        "nuxt", "Nuxt", ("nuxt", "nuxt3", "nuxt-edge"), ("nuxt dev", "nuxi dev", "nuxt"), 3000, config=_NUXT,
        port_block="devServer", reads_port=True, failure_signs=BLOCKED_HOST, floors={4: ">=20.19.0", 3: ">=18"},
    ),
    Framework(
        "astro", "Astro", ("astro",), ("astro dev", "astro"), 4321, config=_ASTRO, hmr=("/", "vite-hmr"),
        failure_signs=BLOCKED_HOST, floors={7: ">=22.12.0", 6: ">=22.12.0", 5: ">=18.20.8", 4: ">=18.14.1"},
    ),
    _vite("react-router", "React Router", "@react-router/dev", "react-router dev",
          floors={8: ">=22.22.0", 7: ">=20.0.0"}),
    _vite("remix", "Remix", "@remix-run/dev", "remix vite:dev"),
    Framework("remix", "Remix", ("@remix-run/dev",), ("remix dev",), 3000, reads_port=True),
    _vite("sveltekit", "SvelteKit", "@sveltejs/kit", "vite dev|vite|svelte-kit dev", floors={2: ">=18.13"}),
    _vite("tanstack-start", "TanStack Start", "@tanstack/react-start @tanstack/solid-start @tanstack/start",
          "vite dev|vite"),
    _vite("solid-start", "SolidStart", "@solidjs/start", "vinxi dev|vite dev|vite", port=3000, reads_port=True),
    Framework("tanstack-start", "TanStack Start", ("vinxi",), ("vinxi dev",), 3000, reads_port=True),
    _vite("qwik", "Qwik", "@builder.io/qwik @qwik.dev/core", "vite|qwik dev"),
    _vite("analog", "Analog", "@analogjs/platform", "vite|ng serve|nx serve"),
    Framework(
        "angular", "Angular", ("@angular/core",), ("ng serve", "ng s", "ng dev", "nx serve"), 4200,
        failure_signs=BLOCKED_HOST | BROKEN_BUNDLE, floors=ANGULAR_FLOORS,
    ),
    Framework(
        "docusaurus", "Docusaurus", ("@docusaurus/core",), ("docusaurus start", "docusaurus-start"), 3000, Role.DOCS,
        failure_signs=BLOCKED_HOST | BROKEN_BUNDLE, floors={3: ">=20.0", 2: ">=16.14"},
    ),
    Framework(
        "vitepress", "VitePress", ("vitepress",), ("vitepress dev", "vitepress"), 5173, Role.DOCS,
        failure_signs=BLOCKED_HOST,
    ),
    Framework("vuepress", "VuePress", ("vuepress",), ("vuepress dev", "vuepress-vite dev", "vuepress-webpack dev"),
              8080, Role.DOCS, failure_signs=BLOCKED_HOST),
    Framework("waku", "Waku", ("waku",), ("waku dev", "waku"), 3000, reads_port=True,
              floors={1: "^22.15.0 || ^24.0.0 || ^26.0.0"}),
    Framework("gatsby", "Gatsby", ("gatsby",), ("gatsby develop", "gatsby-dev-cli"), 8000,
              failure_signs=BROKEN_BUNDLE, floors={5: ">=18"}),
    Framework("eleventy", "Eleventy", ("@11ty/eleventy",), ("eleventy --serve", "eleventy"), 8080,
              floors={3: ">=18", 2: ">=14"}),
    _webpack("create-react-app", "Create React App", "react-scripts",
             "react-scripts start|react-app-rewired start|craco start|config-overrides start", 3000,
             reads_port=True, hmr=("/ws", None), hmr_since=5,
             # It ends with its closed standard input unless CI is exactly "true".
             # https://github.com/facebook/create-react-app/blob/v5.0.1/packages/react-scripts/scripts/start.js
             env={"CI": "true"}),
    _webpack("vue-cli", "Vue CLI", "@vue/cli-service", "vue-cli-service serve", 8080,
             config=("vue.config.js", "vue.config.ts"), reads_port=True),
    Framework("ember", "Ember", ("ember-cli",), ("ember serve", "ember s", "ember server"), 4200,
              failure_signs=BROKEN_BUNDLE),
    Framework("redwood", "Redwood", ("@redwoodjs/core",), ("rw dev", "redwood dev"), 8910),
    Framework("expo", "Expo for the web", ("expo",), ("expo start --web", "expo web"), 8081),
    Framework("nestjs", "NestJS", ("@nestjs/core",), ("nest start",), 3000, Role.API, reads_port=True),
    Framework("fastify", "Fastify", ("fastify-cli",), ("fastify start",), 3000, Role.API, reads_port=True),
    Framework("meteor", "Meteor", ("meteor-node-stubs",), ("meteor run", "meteor"), 3000, reads_port=True),
    Framework("adonis", "AdonisJS", ("@adonisjs/core",), ("node ace serve", "node ace.js serve"), 3333,
              reads_port=True),
    Framework("strapi", "Strapi", ("@strapi/strapi",), ("strapi develop", "strapi dev"), 1337, reads_port=True),
    Framework("keystone", "Keystone", ("@keystone-6/core",), ("keystone dev", "keystone"), 3000, reads_port=True),
    Framework("directus", "Directus", ("directus",), ("directus start",), 8055, reads_port=True),
    Framework("medusa", "Medusa", ("@medusajs/medusa",), ("medusa develop", "medusa start"), 9000, Role.API,
              reads_port=True),
    Framework("sanity", "Sanity Studio", ("sanity",), ("sanity dev", "sanity start"), 3333),
    Framework("hexo", "Hexo", ("hexo",), ("hexo server", "hexo serve", "hexo s"), 4000),
    Framework("slidev", "Slidev", ("@slidev/cli",), ("slidev",), 3030),
    Framework("evidence", "Evidence", ("@evidence-dev/evidence",), ("evidence dev",), 3000),
    Framework("mintlify", "Mintlify", ("mintlify", "mint"), ("mintlify dev", "mint dev"), 3000, Role.DOCS),
    Framework("fresh", "Fresh", ("fresh",), ("fresh dev",), 8000),
    Framework("wrangler", "Cloudflare Workers", ("wrangler",), ("wrangler dev", "wrangler pages dev"), 8787, Role.API),
    Framework("netlify", "Netlify Dev", ("netlify-cli",), ("netlify dev", "ntl dev"), 8888),
    Framework("serverless", "Serverless offline", ("serverless-offline",), ("serverless offline", "sls offline"),
              3000, Role.API),
    Framework("nitro", "Nitro", ("nitropack", "nitro"), ("nitropack dev", "nitro dev"), 3000, Role.API,
              reads_port=True),
    Framework("rsbuild", "Rsbuild", ("@rsbuild/core",), ("rsbuild dev", "rsbuild"), 3000,
              config=("rsbuild.config.ts", "rsbuild.config.js", "rsbuild.config.mjs"), failure_signs=BLOCKED_HOST,
              floors={2: "^20.19.0 || >=22.12.0", 1: ">=18.12.0"}),
    Framework("rspress", "Rspress", ("rspress", "@rspress/core"), ("rspress dev",), 3000, Role.DOCS),
    Framework("farm", "Farm", ("@farmfe/core",), ("farm start", "farm dev", "farm"), 9000),
    Framework("wmr", "WMR", ("wmr",), ("wmr",), 8080, reads_port=True),
    Framework("snowpack", "Snowpack", ("snowpack",), ("snowpack dev",), 8080),
    _vite("vite", "Vite", "vite rolldown-vite @voidzero-dev/vite-plus-core", "vite dev|vite serve|vite|vp dev",
          floors=VITE_FLOORS),
    _webpack("webpack", "webpack", "webpack-dev-server",
             "webpack-dev-server|webpack serve|webpack-cli serve",
             8080,
             config=("webpack.config.js", "webpack.config.ts", "webpack.dev.js", "webpack/webpack.dev.js",
                     "config/webpack.dev.js", "webpack.config.cjs"),
             hmr=("/ws", None), hmr_since=4),
    _webpack("rspack", "Rspack", "@rspack/cli @rspack/core", "rspack serve|rspack dev", 8080,
             config=("rspack.config.js", "rspack.config.ts", "rspack.config.mjs")),
    Framework("parcel", "Parcel", ("parcel", "parcel-bundler"), ("parcel serve", "parcel"), 1234,
              failure_signs=BROKEN_BUNDLE),
    Framework("browser-sync", "Browsersync", ("browser-sync",), ("browser-sync start", "browser-sync"), 3000),
    Framework("browser-sync", "Browsersync", ("browser-sync",), ("gulp watch", "gulp", "grunt"),
              3000, needs_package=True),
    Framework("live-server", "live-server", ("live-server",), ("live-server",), 8080, reads_port=True),
    Framework("lite-server", "lite-server", ("lite-server",), ("lite-server",), 3000),
    Framework("web-dev-server", "Web Dev Server", ("@web/dev-server",), ("web-dev-server", "wds"), 8000),
    Framework("http-server", "http-server", ("http-server",), ("http-server",), 8080, reads_port=True),
    Framework("serve", "serve", ("serve",), ("serve",), 3000, reads_port=True),
    Framework("json-server", "json-server", ("json-server",), ("json-server",), 3000, Role.API, reads_port=True),
    Framework("gulp", "gulp", ("gulp-connect", "gulp-webserver", "gulp-live-server"), ("gulp",), 8080,
              needs_package=True),
    Framework("grunt", "Grunt", ("grunt-contrib-connect",), ("grunt",), 8000, needs_package=True),
    Framework(
        "storybook", "Storybook", ("storybook", "@storybook/react", "@storybook/vue3", "@storybook/html"),
        ("storybook dev", "start-storybook", "storybook"), 6006, Role.COMPONENTS,
    ),
    Framework("ladle", "Ladle", ("@ladle/react",), ("ladle serve",), 61000, Role.COMPONENTS),
    Framework("styleguidist", "Styleguidist", ("react-styleguidist",), ("styleguidist server",), 6060,
              Role.COMPONENTS),
)  # fmt: skip

SERVERS: tuple[tuple[str, str, str], ...] = (
    ("express", "Express", "express"),
    ("fastify", "Fastify", "fastify"),
    ("hono", "Hono", "hono"),
    ("koa", "Koa", "koa"),
    ("elysia", "Elysia", "elysia"),
    ("hapi", "hapi", "@hapi/hapi"),
    ("polka", "Polka", "polka"),
    ("restify", "restify", "restify"),
    ("feathers", "Feathers", "@feathersjs/feathers"),
    ("loopback", "LoopBack", "@loopback/rest"),
    ("sails", "Sails", "sails"),
    ("apollo", "Apollo Server", "@apollo/server"),
    ("apollo", "Apollo Server", "apollo-server"),
    ("graphql-yoga", "GraphQL Yoga", "graphql-yoga"),
    ("parse-server", "Parse Server", "parse-server"),
    ("h3", "h3", "h3"),
    ("micro", "micro", "micro"),
    ("socket.io", "Socket.IO", "socket.io"),
    ("probot", "Probot", "probot"),
    ("ghost", "Ghost", "ghost"),
)
"""Server libraries: kind, title, package. Their apps are started by running a file."""


def major(requirement: str) -> int | None:
    """The major version that a requirement such as `^8.3.4` speaks of."""
    found = re.search(r"\d+", requirement)
    return int(found.group()) if found else None
