// Reads partition keys, one per line: [["text","a"],["bigint","5"],…]. Prints the token that DataStax's
// driver routes each of them by, with the driver's own encoding of the values.
'use strict';

const path = require('path');
const folder = path.join(process.argv[2], 'node_modules', 'cassandra-driver');
const { Encoder, types } = require(folder);
const { Murmur3Tokenizer } = require(path.join(folder, 'lib', 'tokenizer.js'));

const encoder = new Encoder(4, {});
const tokenizer = new Murmur3Tokenizer();

function valueOf([type, value]) {
  if (type === 'bigint') return types.Long.fromString(value);
  if (type === 'uuid') return types.Uuid.fromString(value);
  return value;
}

function tokenOf(columns) {
  let key;
  encoder.setRoutingKeyFromUser(columns.map(valueOf), {
    getRoutingKey: () => undefined,
    getRoutingIndexes: () => columns.map((_, i) => i),
    getRoutingNames: () => undefined,
    getHints: () => columns.map(([type]) => type),
    setRoutingKey: (made) => { key = made; },
  });
  // Four words of 16 bits, the lowest first.
  const hash = tokenizer.hash(key).getValue();
  let bits = 0n;
  for (let i = 3; i >= 0; --i) bits = (bits << 16n) | BigInt(hash.getUint16(i));
  return BigInt.asIntN(64, bits);
}

const lines = require('fs').readFileSync(0, 'utf8').split('\n');
const tokens = lines.filter((line) => line !== '').map((line) => tokenOf(JSON.parse(line)));
process.stdout.write(tokens.join('\n') + '\n');
