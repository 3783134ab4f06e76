// test/cosmos/service/with_server.mjs — runs a command while a server runs, and ends the server.
//
//   node with_server.mjs own PROGRAM COMMAND…     the server of the example
//   node with_server.mjs other FOLDER COMMAND…    the npm package @vercel/cosmosdb-server in FOLDER
//
// The command finds in its environment where the server is: COSMOS_ENDPOINT and COSMOS_KEY, and the
// same as KEYSPAN_…. Its exit status is the one of this program; 3 where there is no server in time.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, connect } from "node:net";
import { join } from "node:path";

const [kind, where, ...command] = process.argv.slice(2);
const key = Buffer.from("the key of a server that lives as long as a test").toString("base64");

let server;
const end = (status) => {
  server?.kill("SIGKILL");
  process.exit(status);
};
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => end(3));
setTimeout(() => {
  console.error("it takes too long");
  end(3);
}, 120_000).unref();

const free_port = async () => {
  const one = createServer().listen(0, "127.0.0.1");
  await once(one, "listening");
  const { port } = one.address();
  one.close();
  await once(one, "close");
  return port;
};
const answers = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.on("error", () => resolve(false)).on("close", () => resolve(false));
    socket.unref();
  });
const started = (program, words) => {
  server = spawn(program, words, { stdio: ["ignore", "pipe", "inherit"] });
  server.on("exit", (status) => {
    console.error(`the server has ended with ${status}`);
    end(3);
  });
  return server;
};

let port;
if (kind === "own") {
  const words = ["--port", "0", "--key", key, "--partitions", "4"];
  const { stdout } = started(where, words);
  port = await new Promise((resolve) => {
    let said = "";
    stdout.on("data", (text) => {
      said += text;
      const ready = /^ready (\d+)\n/.exec(said);
      if (ready) resolve(ready[1]);
    });
  });
} else {
  port = await free_port();
  const program = join(where, "node_modules/@vercel/cosmosdb-server/lib/cli.js");
  const words = [program, "--no-ssl", "--host", "127.0.0.1", "-p", `${port}`];
  started(process.execPath, words).stdout.resume();
  while (!(await answers(port))) await new Promise((resolve) => setTimeout(resolve, 50));
}

const endpoint = `http://127.0.0.1:${port}/`;
const env = {
  ...process.env,
  COSMOS_ENDPOINT: endpoint,
  COSMOS_KEY: key,
  KEYSPAN_COSMOS_ENDPOINT: endpoint,
  KEYSPAN_COSMOS_KEY: key,
};
const work = spawn(command[0], command.slice(1), { stdio: "inherit", env });
work.on("error", (why) => {
  console.error(why.message);
  end(3);
});
work.on("exit", (status) => {
  server.removeAllListeners("exit");
  end(status ?? 3);
});
