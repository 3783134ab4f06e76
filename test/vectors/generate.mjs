// test/vectors/generate.mjs — fresh keys, and what the official client makes of them.
//
//   node generate.mjs CLIENT [SEED [COUNT]]
//
// CLIENT is the folder of the npm package @azure/cosmos. Prints COUNT keys drawn at random for each
// scheme, after some that are always there. The same seed gives the same lines. A line has four
// fields or six, with a tabulator between them:
//
//   the key as JSON ({} is undefined), the scheme, the token, the text of the key's header,
//   and where the client strays from the service: by which of its known habits, to which token
//
// The schemes are v1, v2 and multihash. The token is the word error where it would have more than the
// 336 bytes that the service has room for in version 1. Two lines more have none_0 and none_1 there and no token:
// what the client sends for a document without a key where the container has so many paths.
//
// The client strays in version 1 alone. What the service computes stands below, put together from
// the client's own hash function; it is believed only where, with all the habits switched on, it
// gives the very bytes that the client gives. Otherwise the program ends with an error.
//
// Not drawn: -0, for which the client sends one key and hashes another; the empty key, which it
// hashes; and what a key of ours cannot be: infinities, not-a-number, halves of surrogate pairs.
import { pathToFileURL } from "node:url";
import { join, resolve } from "node:path";

const [client, seed = "1", count = "1000"] = process.argv.slice(2);
if (client === undefined || !/^\d+$/.test(seed) || !/^\d+$/.test(count)) {
  console.error("usage: node generate.mjs CLIENT [SEED [COUNT]]");
  process.exit(2);
}
const of_client = (file) => import(pathToFileURL(join(resolve(client), "dist/esm", file)).href);
const { hashPartitionKey } = await of_client("utils/hashing/hash.js");
const { default: murmur } = await of_client("utils/hashing/murmurHash.js");
const { getHeaders } = await of_client("request/request.js");
const { convertToInternalPartitionKey } = await of_client("documents/index.js");
const { undefinedPartitionKey } = await of_client("extractPartitionKey.js");

// ---- What is drawn.

// A generator of 32 bits (sfc32), so that a seed means the same keys everywhere.
const random = (() => {
  let [a, b, c, d] = [0x9e3779b9, Number(BigInt(seed) >> 32n) | 0, Number(BigInt(seed) & 0xffffffffn) | 0, 1];
  const next = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + t) | 0;
    return t >>> 0;
  };
  for (let i = 0; i < 16; ++i) next();
  return next;
})();
const below = (bound) => random() % bound;
const one_of = (list) => list[below(list.length)];
const up_to = (bound, draw) => Array.from({ length: 1 + below(bound) }, draw);

const bits = new DataView(new ArrayBuffer(8));
const bits_of = (number) => (bits.setFloat64(0, number), bits.getBigUint64(0));
function number_of_bits(high, low) {
  bits.setUint32(0, high);
  bits.setUint32(4, low);
  return bits.getFloat64(0);
}

const alphabets = [
  [0x20, 0x7e],  // what an identifier is made of, and beyond: one byte of UTF-8 and more
  [0x00, 0x1f],
  [0x22, 0x5c],
  [0x7f, 0x7ff],
  [0x800, 0xd7ff],
  [0xe000, 0xffff],
  [0x10000, 0x10ffff],
];
const character = ([first, last]) => String.fromCodePoint(first + below(last - first + 1));

function string() {
  const units = one_of([
    () => below(4),
    () => below(24),
    () => below(80),
    () => 31 + below(36), // around 101 bytes, of three each or four
    () => 96 + below(10), // around the 100 units that version 1 looks at
    () => below(700),
  ])();
  const alphabet = one_of(alphabets);
  const mixed = below(4) === 0;
  let text = "";
  while (text.length < units) text += character(mixed ? one_of(alphabets) : alphabet);
  return text;
}
const identifier = () =>
  "00000000-0000-4000-8000-000000000000".replace(/0/g, () => below(16).toString(16));

function number() {
  const drawn = one_of([
    () => below(1000) - 500,
    () => (random() - 0x80000000) * (1 + below(0x200000)),
    () => below(10000000) / 100,
    () => 1500000000000 + random() * 64,
    () => (below(2) ? 1 : -1) * 2 ** (below(2098) - 1074),
    () => Number(`${1 + below(99)}e${below(60) - 30}`),
    () => number_of_bits(random(), random()),
  ])();
  return Number.isFinite(drawn) && !Object.is(drawn, -0) ? drawn : number();
}

const value = () =>
  one_of([string, string, string, identifier, number, number, () => one_of([true, false, null, undefined])])();

const x = (n) => "x".repeat(n);
const smile = "\u{1F600}";
const always = [
  ...[undefined, null, false, true, "", "a", "\0", "\x7f", '"\\/\b\f\n\r\t\x1f', "é", "日本", smile, "\u2028", "\uFFFF"],
  ...[0, 1, -1, 2, -2, 0.1, 1e21, 1e-7, 123456789012345680000, 5e-324, 2 ** 53, Number.MAX_VALUE, -Number.MAX_VALUE],
  ...[131072, 2 ** 33, 2 ** -15, 2 ** -31], // 56 zeros at their end
  ...[4241574703, 6051255785, 7161239560], // 2, 0 and 131072 are their hashes: 56 zeros there
  ...[15, 16, 17, 31, 32, 33, 99, 100, 101, 102, 255, 256, 2048].map(x),
  ...["é".repeat(50), "é".repeat(50) + "x", "é".repeat(51), "日".repeat(33) + "x", "日".repeat(34)],
  ...[x(98) + "é", x(99) + "é", x(98) + smile, x(99) + smile, x(99) + smile + "x", x(100) + smile], // a cut pair
].map((one) => [one]);
const always_several = [
  ...[["a", "b"], ["ab", ""], ["", "ab"], [undefined, undefined], [null, 0], [0, null], [x(101), x(101)]],
  ...[["é".repeat(51), 2], [true, false, null], ["tenant", undefined, "session"], [4241574703, 2]],
];

const schemes = {
  v1: {
    definition: { kind: "Hash", version: 1 },
    keys: [...always, ...always_several, ["a", 0, true, null, undefined, smile], Array(4).fill(x(101))],
    draw: () => (below(4) === 0 ? up_to(4, value) : [value()]),
  },
  v2: {
    definition: { kind: "Hash", version: 2 },
    keys: [...always, ...always_several, ["a", 0, true, null, undefined, smile]],
    draw: () => (below(4) === 0 ? up_to(4, value) : [value()]),
  },
  multihash: {
    definition: { kind: "MultiHash", version: 2 },
    keys: [...always, ...always_several],
    draw: () => up_to(3, value),
  },
};

// ---- Version 1, as the service computes it, and the habits that the client has.

const habits = [
  "first_value_only", // of several values it takes one
  "string_not_cut", // one of more than 100 bytes is written whole, and ended
  "last_zero_of_number_missing", // the 00 that stands for 56 zeros
  "last_zero_of_hash_missing",
];

const utf8 = (text) => [...new TextEncoder().encode(text)];
const little_endian = (number) => {
  bits.setFloat64(0, number, true);
  return [...new Uint8Array(bits.buffer)];
};
const marker = (one) => [undefined, null, false, true].indexOf(one);

function bytes_to_hash(one) {
  if (typeof one === "string") return [8, ...utf8(one.slice(0, 100)), 0];
  if (typeof one === "number") return [5, ...little_endian(one)];
  return [marker(one)];
}

// The bits of the double, turned so that they rise with it: eight, then seven in a byte, whose
// lowest bit tells that there are more. Zeros at the end are left out.
function ordered_number(number, drop_last_zero) {
  const plain = bits_of(number);
  const sign = 1n << 63n;
  const rising = BigInt.asUintN(64, plain < sign ? plain + sign : -plain);
  const bytes = [5, Number(rising >> 56n)];
  for (let left = 49; ; left -= 7) {
    const more = BigInt.asUintN(left, rising) !== 0n;
    bytes.push(2 * Number((rising >> BigInt(left)) & 127n) + (more ? 1 : 0));
    if (!more) break;
  }
  return drop_last_zero && bytes.at(-1) === 0 ? bytes.slice(0, -1) : bytes;
}

function ordered_string(text, whole) {
  const bytes = utf8(text.slice(0, 100)).map((byte) => byte + 1);
  return whole || bytes.length <= 100 ? [8, ...bytes, 0] : [8, ...bytes.slice(0, 101)];
}

function v1(key, has) {
  const values = has("first_value_only") ? key.slice(0, 1) : key;
  const hash = murmur.x86.hash32(Uint8Array.from(values.flatMap(bytes_to_hash)));
  const ordered = (one) => {
    if (typeof one === "string") return ordered_string(one, has("string_not_cut"));
    if (typeof one === "number") return ordered_number(one, has("last_zero_of_number_missing"));
    return [marker(one)];
  };
  return [...ordered_number(hash, has("last_zero_of_hash_missing")), ...values.flatMap(ordered)]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("")
    .toUpperCase();
}

// The token, and which habits bring the client to which other one.
function token_of(scheme, key) {
  const by_client = hashPartitionKey(key, schemes[scheme].definition);
  if (scheme !== "v1") return [by_client];
  const complain = (what) => {
    throw new Error(`${what} of ${JSON.stringify(key)}, which the client says is ${by_client}`);
  };
  if (v1(key, () => true) !== by_client) complain("the known habits do not explain the token");
  const token = v1(key, () => false);
  const at_work = habits.filter((habit) => v1(key, (other) => other !== habit) !== by_client);
  if ((at_work.length === 0) !== (token === by_client)) complain("the habits do not add up to the token");
  const answer = token.length > 2 * 336 ? "error" : token;
  return at_work.length === 0 ? [answer] : [answer, at_work.join(" "), by_client];
}

// ---- The lines.

const header_of = async (key) =>
  (await getHeaders({ clientOptions: {}, defaultHeaders: {}, partitionKey: key }))["x-ms-documentdb-partitionkey"];

const lines = [];
for (const [scheme, { keys, draw }] of Object.entries(schemes)) {
  for (let i = 0; i < keys.length + Number(count); ++i) {
    const key = i < keys.length ? keys[i] : draw();
    const sent = convertToInternalPartitionKey(key);
    const [token, ...deviation] = token_of(scheme, key);
    lines.push([JSON.stringify(sent), scheme, token, await header_of(sent), ...deviation]);
  }
}
for (const [scheme, definition] of [["none_0", { systemKey: true }], ["none_1", { paths: ["/any"] }]]) {
  const sent = convertToInternalPartitionKey(undefinedPartitionKey(definition));
  lines.push([JSON.stringify(sent), scheme, "", await header_of(sent)]);
}
process.stdout.write(lines.map((fields) => fields.join("\t") + "\n").join(""));
