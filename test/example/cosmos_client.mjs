// test/example/cosmos_client.mjs — what the official npm client is promised by a server of the
// protocol.
//
//   COSMOS_ENDPOINT=http://127.0.0.1:PORT/ COSMOS_KEY=BASE64 COSMOS_CLIENT=FOLDER node cosmos_client.mjs
//
// COSMOS_CLIENT is the folder of the npm package @azure/cosmos; the package of that name where it is
// not said. Each promise is a function; its name is printed once it is kept. The program ends with 1
// at the first that is not, and says which one and why. New containers of the server are to have
// four partition key ranges; splits and merges are asked for by POST /_control/….
import { pathToFileURL } from "node:url";
import { join, resolve } from "node:path";

const { COSMOS_ENDPOINT: endpoint, COSMOS_KEY: key, COSMOS_CLIENT: folder } = process.env;
if (!endpoint || !key) {
  console.error("usage: COSMOS_ENDPOINT=… COSMOS_KEY=… [COSMOS_CLIENT=…] node cosmos_client.mjs");
  process.exit(2);
}
const {
  ChangeFeedMode,
  ChangeFeedStartFrom,
  CosmosClient,
  PartitionKeyDefinitionVersion,
  PartitionKeyKind,
} = await import(
  folder ? pathToFileURL(join(resolve(folder), "dist/esm/index.js")).href : "@azure/cosmos"
);

// ---- What all of them need.

const client = new CosmosClient({ endpoint, key });
const { database } = await client.databases.createIfNotExists({ id: `promises of ${Date.now()}` });

let number = 0;
const container_of = async (paths, more = {}, options = undefined) => {
  const hierarchical = { kind: PartitionKeyKind.MultiHash };
  const { container } = await database.containers.create(
    {
      id: `container ${++number}`,
      partitionKey: {
        paths,
        version: PartitionKeyDefinitionVersion.V2,
        ...(paths.length > 1 ? hierarchical : {}),
      },
      ...more,
    },
    options,
  );
  return container;
};
const filled = async (count, more = {}) => {
  const container = await container_of(["/shop"], more);
  for (let i = 0; i < count; ++i)
    await container.items.create({ id: `o-${i}`, shop: `shop ${i}`, cents: i });
  return container;
};

const text = (value) => JSON.stringify(value);
const expect = (is_so, words) => {
  if (!is_so) throw new Error(words);
};
const expect_same = (given, wanted, words) =>
  expect(text(given) === text(wanted), `${words}: ${text(given)} and not ${text(wanted)}`);
const expect_refusal = async (status, promise, words) => {
  let code = "none";
  try {
    await promise;
  } catch (why) {
    code = why.code;
  }
  expect_same(code, status, words);
};
const ids_of = (documents) => documents.map((one) => one.id).sort();
const numbered = (from, to) =>
  Array.from({ length: to - from }, (_, i) => `o-${from + i}`).sort();

// All that a feed tells until it has nothing new, and where it was left.
const drained = async (container, options) => {
  const feed = container.items.getChangeFeedIterator({ maxItemCount: 7, ...options });
  const items = [];
  let continuation;
  for (let pages = 0; feed.hasMoreResults; ++pages) {
    expect(pages < 1000, "a feed comes to its end");
    const page = await feed.readNext();
    continuation = page.continuationToken;
    if (page.statusCode === 304) break;
    items.push(...page.result);
  }
  return { items, continuation };
};

// What no client can ask for.
const control = async (container, words) => {
  const { id: database_id } = database;
  const path = `_control/dbs/${encodeURIComponent(database_id)}/colls/${encodeURIComponent(container.id)}`;
  const answer = await fetch(`${endpoint.replace(/\/$/, "")}/${path}/${words}`, { method: "POST" });
  const body = await answer.json();
  expect_same(answer.status, 200, `${words}: ${text(body)}`);
  return body.ranges;
};
const ranges_of = async (container) =>
  (await container.readPartitionKeyRanges().fetchAll()).resources;

// ---- The promises.

async function a_wrong_key_opens_nothing() {
  const wrong = Buffer.from(Buffer.from(key, "base64").map((byte) => byte ^ 1)).toString("base64");
  const stranger = new CosmosClient({ endpoint, key: wrong });
  await expect_refusal(401, stranger.databases.readAll().fetchAll(), "the list of databases");
}

async function databases_come_and_go() {
  const id = `guest of ${Date.now()}`;
  const made = await client.databases.create({ id });
  expect_same(made.statusCode, 201, "the status of a creation");
  await expect_refusal(409, client.databases.create({ id }), "a second one of the same name");
  const { resources } = await client.databases.readAll().fetchAll();
  expect(ids_of(resources).includes(id), "a database stands in the list");
  const read = await made.database.read();
  expect_same(read.resource._rid, made.resource._rid, "its resource id");
  await made.database.delete();
  await expect_refusal(404, made.database.read(), "a database that is gone");
}

async function a_container_that_is_made_anew_is_another_one() {
  const container = await container_of(["/shop"], { defaultTtl: 1000 });
  const { resource: first } = await container.read();
  expect_same(first.partitionKey.paths, ["/shop"], "its paths");
  expect_same(first.defaultTtl, 1000, "how long its documents live");
  await container.items.create({ id: "o-1", shop: "oslo" });
  await container.delete();
  await expect_refusal(404, container.read(), "a container that is gone");
  const { container: again } = await database.containers.create({
    id: container.id,
    partitionKey: { paths: ["/shop"] },
  });
  const { resource: second } = await again.read();
  expect(first._rid !== second._rid, "its resource id is another one");
  const { resources } = await again.items.readAll().fetchAll();
  expect_same(resources, [], "its documents");
}

async function a_document_is_written_and_read() {
  const container = await container_of(["/shop"]);
  const order = { id: "o-1", shop: "oslo", cents: 1234567890123456, note: "å\u2028🙂" };
  const made = await container.items.create(order);
  expect_same(made.statusCode, 201, "the status of a creation");
  expect(made.etag && made.resource._etag === made.etag, "it has an etag");
  const item = container.item("o-1", "oslo");
  const read = await item.read();
  expect_same(read.resource, made.resource, "what is read");
  expect_same(read.resource.note, order.note, "its text");
  expect(read.requestCharge > 0, "a read costs something");
  expect(/^\d+:-1#\d+$/.test(read.headers["x-ms-session-token"]), "it says how far it has seen");
  await expect_refusal(409, container.items.create(order), "a second one of the same id");
  const other = await container.item("o-2", "oslo").read();
  expect_same(other.statusCode, 404, "one that is not there");
  const moved = await container.item("o-1", "rome").read();
  expect_same(moved.statusCode, 404, "one under another key");
  await item.delete();
  expect_same((await item.read()).statusCode, 404, "one that was deleted");
}

async function an_upsert_creates_and_then_replaces() {
  const container = await container_of(["/shop"]);
  const first = await container.items.upsert({ id: "o-1", shop: "oslo", cents: 1 });
  const second = await container.items.upsert({ id: "o-1", shop: "oslo", cents: 2 });
  expect_same([first.statusCode, second.statusCode], [201, 200], "the statuses");
  expect_same(first.resource._rid, second.resource._rid, "the resource id");
  expect(first.etag !== second.etag, "the etag is another one");
}

async function an_etag_lets_one_writer_win() {
  const container = await container_of(["/shop"]);
  const { resource } = await container.items.create({ id: "o-1", shop: "oslo", cents: 1 });
  const item = container.item("o-1", "oslo");
  const options = { accessCondition: { type: "IfMatch", condition: resource._etag } };
  const won = await item.replace({ ...resource, cents: 2 }, options);
  expect_same(won.statusCode, 200, "the first writer");
  await expect_refusal(412, item.replace({ ...resource, cents: 3 }, options), "the second writer");
  await expect_refusal(412, item.delete(options), "who would delete it");
  expect_same((await item.read()).resource.cents, 2, "what was written");
  const known = await item.read({
    accessCondition: { type: "IfNoneMatch", condition: won.resource._etag },
  });
  expect_same(known.statusCode, 304, "a read of what is known already");
}

async function ids_may_have_any_letters() {
  const container = await container_of(["/shop"]);
  for (const id of ["é 1", "a%20b", "x+y=z&w", "🙂", "a,b;c:d@e$f!g'h(i)*"]) {
    await container.items.create({ id, shop: "é/\\?#" });
    const read = await container.item(id, "é/\\?#").read();
    expect_same([read.statusCode, read.resource?.id], [200, id], "the document");
  }
}

async function all_keys_are_keys() {
  const container = await container_of(["/shop"]);
  for (const shop of ["", "oslo", 0, 1.5, -1e300, true, false, null, undefined]) {
    const { resource } = await container.items.create({ id: "o-1", shop });
    const read = await container.item("o-1", shop === undefined ? {} : shop).read();
    expect_same(read.resource, resource, `the document of ${text(shop)}`);
  }
}

async function all_documents_are_read_once() {
  const container = await filled(50);
  const { resources } = await container.items.readAll().fetchAll();
  expect_same(ids_of(resources), numbered(0, 50), "all in one");
  const pages = container.items.readAll({ maxItemCount: 7 });
  const seen = [];
  while (pages.hasMoreResults()) {
    const { resources: page } = await pages.fetchNext();
    expect(page.length <= 7, "a page has as many as it may have");
    seen.push(...page);
  }
  expect_same(ids_of(seen), numbered(0, 50), "page by page");
  const first = await container.items.readAll({ maxItemCount: 20 }).fetchNext();
  const rest = await container.items
    .readAll({ continuationToken: first.continuationToken })
    .fetchAll();
  expect_same(
    ids_of([...first.resources, ...rest.resources]),
    numbered(0, 50),
    "with a rest between",
  );
  const one = await container.items.readAll({ partitionKey: "shop 7" }).fetchAll();
  expect_same(ids_of(one.resources), ["o-7"], "those of one key");
}

async function a_query_that_is_none_of_these_is_refused() {
  const container = await filled(1);
  const wanted = container.items.query("SELECT * FROM c WHERE c.cents > 1").fetchAll();
  await expect_refusal(400, wanted, "a query");
}

async function hierarchical_keys_are_keys() {
  const container = await container_of(["/tenant", "/user/id", "/day"]);
  for (let i = 0; i < 30; ++i)
    await container.items.create({
      id: "same",
      tenant: `t-${i % 3}`,
      user: { id: i % 5 },
      day: i,
    });
  const read = await container.item("same", ["t-1", 4, 4]).read();
  expect_same([read.statusCode, read.resource?.day], [200, 4], "one of them");
  const { items } = await drained(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
  });
  expect_same(items.length, 30, "all of them");
  const prefix = await drained(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(["t-1"]),
  });
  expect_same(prefix.items.map((one) => one.tenant), Array(10).fill("t-1"), "those of a tenant");
}

async function there_are_several_ranges() {
  const container = await container_of(["/shop"]);
  const ranges = await ranges_of(container);
  expect_same(ranges.length, 4, "how many there are");
  expect_same([ranges[0].minInclusive, ranges[3].maxExclusive], ["", "FF"], "where they end");
  expect_same((await container.getFeedRanges()).length, 4, "how many can be read");
}

async function changes_are_told_from_the_beginning() {
  const container = await filled(40);
  await container.items.upsert({ id: "o-3", shop: "shop 3", cents: -1 });
  const { items, continuation } = await drained(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
  });
  expect_same(ids_of(items), numbered(0, 40), "each once");
  expect_same(items.find((one) => one.id === "o-3").cents, -1, "the latest version");
  expect(items.every((one) => one._lsn > 0), "each has its place in the log");
  const none = await drained(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuation),
  });
  expect_same(none.items, [], "what is new behind that");
  await container.items.create({ id: "o-40", shop: "shop 40" });
  const more = await drained(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Continuation(none.continuation),
  });
  expect_same(ids_of(more.items), ["o-40"], "what is new then");
}

async function changes_are_told_of_each_range() {
  const container = await filled(40);
  const seen = [];
  for (const range of await container.getFeedRanges()) {
    const { items } = await drained(container, {
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(range),
    });
    expect(items.length > 0, "each range has some");
    seen.push(...items);
  }
  expect_same(ids_of(seen), numbered(0, 40), "all of them together");
  const { items } = await drained(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning("shop 7"),
  });
  expect_same(ids_of(items), ["o-7"], "those of one key");
}

async function changes_are_told_from_now() {
  const container = await filled(10);
  const none = await drained(container, { changeFeedStartFrom: ChangeFeedStartFrom.Now() });
  expect_same(none.items, [], "what was there before");
  await container.items.create({ id: "o-10", shop: "shop 10" });
  const { items } = await drained(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Continuation(none.continuation),
  });
  expect_same(ids_of(items), ["o-10"], "what came then");
}

async function changes_are_told_from_a_moment() {
  const container = await filled(5);
  const hour = 3_600_000;
  const from = async (ms) =>
    (await drained(container, {
      changeFeedStartFrom: ChangeFeedStartFrom.Time(new Date(Date.now() + ms)),
    })).items.length;
  expect_same([await from(-hour), await from(hour)], [5, 0], "an hour ago, and in an hour");
}

async function a_feed_goes_on_through_splits_and_merges() {
  const container = await filled(40);
  const feed = container.items.getChangeFeedIterator({
    maxItemCount: 3,
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
  });
  const first = await feed.readNext();
  expect_same(first.statusCode, 200, "the first page");
  const [left, right] = await control(container, "split/0");
  await control(container, "merge/2/3");
  const seen = [...first.result];
  for (let silent = 0; silent < 2; ) {
    const page = await feed.readNext();
    if (page.statusCode === 304) ++silent;
    else seen.push(...page.result);
  }
  expect_same([...new Set(ids_of(seen))], numbered(0, 40), "all that was there");
  for (let i = 40; i < 60; ++i) await container.items.create({ id: `o-${i}`, shop: `shop ${i}` });
  const later = [];
  for (let silent = 0; silent < 2; ) {
    const page = await feed.readNext();
    if (page.statusCode === 304) ++silent;
    else later.push(...page.result);
  }
  expect_same(ids_of(later), numbered(40, 60), "what came then, each once");
  const ranges = await ranges_of(container);
  expect_same(ranges.length, 4, "how many ranges there are");
  const of = (id) => ranges.find((one) => one.id === id);
  expect_same([of(left).parents, of(right).parents], [["0"], ["0"]], "where they came from");
}

async function a_feed_of_all_versions_tells_of_deletions() {
  const container = await container_of(["/shop"]);
  const feed = container.items.getChangeFeedIterator({
    changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
    changeFeedStartFrom: ChangeFeedStartFrom.Now(),
  });
  expect_same((await feed.readNext()).statusCode, 304, "the first page");
  await container.items.create({ id: "o-1", shop: "oslo", cents: 1 });
  await container.items.upsert({ id: "o-1", shop: "oslo", cents: 2 });
  await container.item("o-1", "oslo").delete();
  const seen = [];
  for (let silent = 0; silent < 2; ) {
    const page = await feed.readNext();
    if (page.statusCode === 304) ++silent;
    else seen.push(...page.result);
  }
  const told = seen.map((one) => one.metadata.operationType);
  expect_same(told, ["create", "replace", "delete"], "what is told");
  expect_same([seen[0].current.cents, seen[1].current.cents], [1, 2], "what there was");
  expect_same([seen[1].previous.cents, seen[2].previous.cents], [1, 2], "what there was before");
  expect_same([seen[2].metadata.id, seen[2].metadata.partitionKey], ["o-1", { shop: "oslo" }], "who");
}

async function a_batch_is_done_whole() {
  const container = await container_of(["/shop"]);
  await container.items.create({ id: "o-1", shop: "oslo", cents: 1 });
  const done = await container.items.batch(
    [
      { operationType: "Create", resourceBody: { id: "o-2", shop: "oslo" } },
      { operationType: "Upsert", resourceBody: { id: "o-3", shop: "oslo" } },
      { operationType: "Replace", id: "o-1", resourceBody: { id: "o-1", shop: "oslo", cents: 2 } },
      { operationType: "Read", id: "o-1" },
      { operationType: "Delete", id: "o-3" },
    ],
    "oslo",
  );
  expect_same(done.code, 200, "the status");
  const statuses = done.result.map((one) => one.statusCode);
  expect_same(statuses, [201, 201, 200, 200, 204], "the statuses of its operations");
  expect_same(done.result[3].resourceBody.cents, 2, "what was read in it");
  const { resources } = await container.items.readAll().fetchAll();
  expect_same(ids_of(resources), ["o-1", "o-2"], "what there is then");
}

async function a_batch_that_fails_does_nothing() {
  const container = await container_of(["/shop"]);
  await container.items.create({ id: "o-1", shop: "oslo" });
  const done = await container.items.batch(
    [
      { operationType: "Create", resourceBody: { id: "o-2", shop: "oslo" } },
      { operationType: "Create", resourceBody: { id: "o-1", shop: "oslo" } },
    ],
    "oslo",
  );
  expect_same(done.code, 207, "the status");
  expect_same(done.result.map((one) => one.statusCode), [424, 409], "those of its operations");
  const { resources } = await container.items.readAll().fetchAll();
  expect_same(ids_of(resources), ["o-1"], "what there is then");
}

async function bulk_operations_are_done_each_for_itself() {
  const container = await filled(10);
  const operations = [];
  for (let i = 5; i < 15; ++i)
    operations.push({
      operationType: "Create",
      partitionKey: `shop ${i}`,
      resourceBody: { id: `o-${i}`, shop: `shop ${i}` },
    });
  const done = await container.items.executeBulkOperations(operations);
  const statuses = done.map((one) => one.response?.statusCode ?? one.error?.code);
  expect_same(statuses, [...Array(5).fill(409), ...Array(5).fill(201)], "the statuses");
  const { resources } = await container.items.readAll().fetchAll();
  expect_same(ids_of(resources), numbered(0, 15), "what there is then");
}

async function who_asks_for_too_much_is_told_when_to_come_again() {
  const container = await container_of(["/shop"], {}, { offerThroughput: 400 });
  const hasty = new CosmosClient({
    endpoint,
    key,
    connectionPolicy: { retryOptions: { maxRetryAttemptCount: 0 } },
  });
  const items = hasty.database(database.id).container(container.id).items;
  let refusal;
  for (let i = 0; i < 200 && !refusal; ++i) {
    try {
      await items.upsert({ id: "o-1", shop: "oslo", note: "x".repeat(100_000) });
    } catch (why) {
      refusal = why;
    }
  }
  expect_same([refusal?.code, refusal?.substatus], [429, 3200], "the refusal");
  expect(refusal.retryAfterInMs > 0, "it says when");
}

async function documents_that_have_lived_are_gone() {
  const container = await container_of(["/shop"], { defaultTtl: -1 });
  await container.items.create({ id: "o-1", shop: "oslo", ttl: 1 });
  await container.items.create({ id: "o-2", shop: "oslo" });
  await new Promise((resolve) => setTimeout(resolve, 1200));
  const { resources } = await container.items.readAll().fetchAll();
  expect_same(ids_of(resources), ["o-2"], "what there is a second later");
}

// ---- All of them, one after another.

const promises = [
  a_wrong_key_opens_nothing,
  databases_come_and_go,
  a_container_that_is_made_anew_is_another_one,
  a_document_is_written_and_read,
  an_upsert_creates_and_then_replaces,
  an_etag_lets_one_writer_win,
  ids_may_have_any_letters,
  all_keys_are_keys,
  all_documents_are_read_once,
  a_query_that_is_none_of_these_is_refused,
  hierarchical_keys_are_keys,
  there_are_several_ranges,
  changes_are_told_from_the_beginning,
  changes_are_told_of_each_range,
  changes_are_told_from_now,
  changes_are_told_from_a_moment,
  a_feed_goes_on_through_splits_and_merges,
  a_feed_of_all_versions_tells_of_deletions,
  a_batch_is_done_whole,
  a_batch_that_fails_does_nothing,
  bulk_operations_are_done_each_for_itself,
  who_asks_for_too_much_is_told_when_to_come_again,
  documents_that_have_lived_are_gone,
];
for (const promise of promises) {
  const name = promise.name.replaceAll("_", " ");
  try {
    await promise();
    console.log(`kept: ${name}`);
  } catch (why) {
    console.error(`broken: ${name}: ${why.code ? `status ${why.code}, ` : ""}${why.message}`);
    process.exit(1);
  }
}
await database.delete();
process.exit(0);  // the client's timers would keep it
