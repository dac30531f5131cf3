// What programs written for `@vercel/sandbox` do, one function each; the name of one is the argument.
// The SDK has no setting for its address, but a public `fetch` option: that is all that differs from a real program.
import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { Sandbox } from "@vercel/sandbox";

const { ENGINE_URL, ENGINE_TOKEN, GIT_URL } = process.env;
const account = {
  token: ENGINE_TOKEN,
  teamId: "team",
  projectId: "project",
  fetch: (url, options) => fetch(String(url).replace("https://vercel.com/api", ENGINE_URL), options),
};
const unique = () => `js-${process.pid}-${Date.now()}`;

async function within(options, use) {
  const sandbox = await Sandbox.create({ ...account, name: unique(), persistent: false, ...options });
  try {
    await use(sandbox);
  } finally {
    await sandbox.delete();
  }
}

const scenarios = {
  async runs_a_command() {
    await within({ env: { GREETING: "hello" } }, async (sandbox) => {
      assert.equal(sandbox.status, "running");
      const ran = await sandbox.runCommand("sh", ["-c", "echo $GREETING; echo err >&2; exit 3"]);
      assert.equal(ran.exitCode, 3);
      assert.equal(await ran.stdout(), "hello\n");
      assert.equal(await ran.stderr(), "err\n");
    });
  },

  async clones_a_branch() {
    const source = { type: "git", url: GIT_URL, revision: "topic", depth: 1 };
    await within({ source }, async (sandbox) => {
      const ran = await sandbox.runCommand("cat", ["file"]);
      assert.equal(await ran.stdout(), "on the branch");
    });
  },

  async serves_a_port() {
    await within({ ports: [3000] }, async (sandbox) => {
      const script = "require('http').createServer((_, a) => a.end('served')).listen(3000, () => console.log('up'))";
      const server = await sandbox.runCommand({ cmd: "node", args: ["-e", script], detached: true });
      for await (const line of server.logs()) {
        assert.equal(line.data, "up\n");
        break;
      }
      const answer = await fetch(sandbox.routes[0].url);
      assert.equal(await answer.text(), "served");
    });
  },

  async follows_a_detached_command() {
    await within({}, async (sandbox) => {
      const script = "for i in 1 2 3; do echo line $i; done; echo end >&2; exit 5";
      const command = await sandbox.runCommand({ cmd: "sh", args: ["-c", script], detached: true });
      const seen = { stdout: "", stderr: "" };
      for await (const { stream, data } of command.logs()) seen[stream] += data;
      assert.deepEqual(seen, { stdout: "line 1\nline 2\nline 3\n", stderr: "end\n" });
      assert.equal((await command.wait()).exitCode, 5);
      const again = await sandbox.getCommand(command.cmdId);
      assert.equal(again.exitCode, 5);
      assert.equal(await again.output("stdout"), seen.stdout);
    });
  },

  async kills_a_command() {
    await within({}, async (sandbox) => {
      const command = await sandbox.runCommand({ cmd: "sleep", args: ["1000"], detached: true });
      await command.kill("SIGTERM");
      assert.equal((await command.wait()).exitCode, 143);
    });
  },

  async writes_and_reads_files() {
    await within({}, async (sandbox) => {
      const bytes = Buffer.from([0, 255, 10, 13, 128]);
      await sandbox.mkDir("folder");
      await sandbox.writeFiles([
        { path: "folder/a.txt", content: Buffer.from("words") },
        { path: "/vercel/sandbox/folder/b.bin", content: bytes },
        { path: "run.sh", content: Buffer.from("#!/bin/sh\necho ran\n"), mode: 0o755 },
      ]);
      assert.equal(await text(await sandbox.readFile({ path: "folder/a.txt" })), "words");
      assert.deepEqual(await sandbox.readFileToBuffer({ path: "folder/b.bin" }), bytes);
      assert.equal(await sandbox.readFileToBuffer({ path: "missing" }), null);
      assert.equal(await (await sandbox.runCommand("./run.sh")).stdout(), "ran\n");
      assert.deepEqual((await sandbox.fs.readdir("folder")).sort(), ["a.txt", "b.bin"]);
    });
  },

  async is_found_by_its_tag_and_changed() {
    const tag = unique();
    await within({ tags: { job: tag } }, async (sandbox) => {
      const names = [];
      for await (const one of await Sandbox.list({ ...account, tags: { job: tag } })) names.push(one.name);
      assert.deepEqual(names, [sandbox.name]);
      await sandbox.update({ tags: { job: "other" }, timeout: 600_000 });
      const again = await Sandbox.get({ ...account, name: sandbox.name });
      assert.deepEqual([again.tags, again.timeout], [{ job: "other" }, 600_000]);
    });
  },

  async is_closed_off_while_it_runs() {
    await within({}, async (sandbox) => {
      const rule = { transform: [{ headers: { authorization: "Bearer secret" } }] };
      await sandbox.update({ networkPolicy: { allow: { "api.example.com": [rule], "*.example.org": [] } } });
      const again = await Sandbox.get({ ...account, name: sandbox.name });
      assert.ok(!JSON.stringify(again.networkPolicy).includes("secret"));
      assert.ok(JSON.stringify(again.networkPolicy).includes("api.example.com"));
      await sandbox.update({ networkPolicy: "deny-all" });
      const asked = await sandbox.runCommand("getent", ["hosts", "example.com"]);
      assert.equal(asked.exitCode, 2);
    });
  },

  async comes_back_with_its_files_after_a_stop() {
    await within({ persistent: true }, async (sandbox) => {
      await sandbox.writeFiles([{ path: "kept", content: Buffer.from("still here") }]);
      const session = sandbox.currentSession().sessionId;
      await sandbox.stop();
      assert.equal((await Sandbox.get({ ...account, name: sandbox.name, resume: false })).status, "stopped");
      assert.equal(await (await sandbox.runCommand("cat", ["kept"])).stdout(), "still here");
      assert.notEqual(sandbox.currentSession().sessionId, session);
    });
  },

  async starts_others_from_a_snapshot() {
    await within({}, async (sandbox) => {
      await sandbox.writeFiles([{ path: "prepared", content: Buffer.from("yes") }]);
      const snapshot = await sandbox.snapshot();
      await within({ source: { type: "snapshot", snapshotId: snapshot.snapshotId } }, async (other) => {
        assert.equal(await (await other.runCommand("cat", ["prepared"])).stdout(), "yes");
      });
      await snapshot.delete();
    });
  },

  async has_one_user_and_says_so() {
    await within({}, async (sandbox) => {
      await assert.rejects(sandbox.createUser("alice"), /have one user, vercel-sandbox/);
      const ran = await sandbox.runCommand({ cmd: "id", args: ["-un"], sudo: true });
      assert.equal(await ran.stdout(), "vercel-sandbox\n");
    });
  },

  async gets_a_ticket_for_a_terminal() {
    await within({}, async (sandbox) => {
      const { url, token } = await sandbox.openInteractive();
      assert.equal(new URL(url).host, new URL(ENGINE_URL).host);
      assert.ok(token.length > 20);
    });
  },

  async is_gone_when_deleted() {
    const sandbox = await Sandbox.create({ ...account, name: unique(), persistent: false });
    await sandbox.delete();
    await assert.rejects(Sandbox.get({ ...account, name: sandbox.name }), /404/);
  },

  async says_what_is_wrong() {
    await within({}, async (sandbox) => {
      await assert.rejects(sandbox.runCommand("no-such-program"), /400/);
      await assert.rejects(Sandbox.create({ ...account, name: sandbox.name }), /409/);
    });
  },

  async runs_a_generated_script_within_a_time() {
    await within({ networkPolicy: "deny-all" }, async (sandbox) => {
      const generated = "const xs = [3, 1, 2]; console.log(xs.sort().join()); process.exit(xs.length);";
      await sandbox.writeFiles([{ path: "generated.mjs", content: Buffer.from(generated) }]);
      const ran = await sandbox.runCommand({ cmd: "node", args: ["generated.mjs"], timeoutMs: 60_000 });
      assert.deepEqual([ran.exitCode, await ran.stdout()], [3, "1,2,3\n"]);
      const endless = await sandbox.runCommand({ cmd: "node", args: ["-e", "for (;;);"], timeoutMs: 300 });
      assert.equal(endless.exitCode, 137);
    });
  },
};

if (process.argv[2] === undefined) {
  console.log(JSON.stringify(Object.keys(scenarios)));
} else {
  await scenarios[process.argv[2]]();
}
