// Generates src/api.ts: the types of the player's part of api/openapi.yaml, which is the operations with the tag "play" and what
// they refer to. The contract of game servers and operators is no part of a package for players.
//   node generate.mjs [--check]
import { readFile, writeFile } from 'node:fs/promises';
import { parseYaml } from '@redocly/openapi-core'; // of openapi-typescript
import openapiTS, { astToString } from 'openapi-typescript';

const contract = new URL('../../api/openapi.yaml', import.meta.url);
const output = new URL('src/api.ts', import.meta.url);
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
const note = '// Generated from the player\'s part of api/openapi.yaml by generate.mjs (make generate). Do not edit.\n\n';

/** Returns the contract with the operations of a tag alone, and the components that they need. */
function partOf(whole, tag) {
  const part = { openapi: whole.openapi, info: whole.info, paths: {}, components: {} };
  for (const [path, item] of Object.entries(whole.paths)) {
    const kept = Object.entries(item).filter(([key, operation]) => !methods.includes(key) || operation.tags?.includes(tag));
    if (kept.some(([key]) => methods.includes(key))) part.paths[path] = Object.fromEntries(kept);
  }
  const waiting = [part.paths];
  while (waiting.length > 0) {
    for (const [kind, name] of referencesOf(waiting.pop())) {
      if (part.components[kind]?.[name]) continue;
      (part.components[kind] ??= {})[name] = whole.components[kind][name];
      waiting.push(whole.components[kind][name]);
    }
  }
  for (const kind of Object.keys(part.components)) { // in the order of the contract, so that a diff is short
    part.components[kind] = Object.fromEntries(Object.keys(whole.components[kind]).filter((name) => part.components[kind][name]).map((name) => [name, whole.components[kind][name]]));
  }
  return part;
}

/** Returns [kind, name] of each reference to a component within a value. */
function referencesOf(value) {
  if (typeof value !== 'object' || value === null) return [];
  const own = typeof value.$ref === 'string' && value.$ref.startsWith('#/components/') ? [value.$ref.split('/').slice(2)] : [];
  return own.concat(Object.values(value).flatMap(referencesOf));
}

const types = note + astToString(await openapiTS(partOf(parseYaml(await readFile(contract, 'utf8')), 'play')));
if (!process.argv.includes('--check')) {
  await writeFile(output, types);
} else if (types !== (await readFile(output, 'utf8'))) {
  console.error('sdk/ts/src/api.ts is not current: make generate');
  process.exitCode = 1;
}
