/**
 * An UPDATE whose list of rows is in its FROM asks all nodes of a cluster: the sixth time that a connection runs it,
 * the server tries a plan for all values, and Citus makes one that goes everywhere. With the list in a CTE it makes
 * none.
 */

import { expect, test } from 'bun:test'
import path from 'node:path'
import { readSources } from '../../support/sources'

const CHANGE = /\b(?:update|delete from) [^`;]*?\b(?:from|using|join) (?:unnest|jsonb?_\w+|generate_series)\(/g
/** A bracket that is still open is that of a sublink. */
const isOwn = (text: string) => text.split('(').length - 1 === text.split(')').length

test('rows that an UPDATE or DELETE is given as a list are in a CTE', () => {
  const found = [...readSources(path.join(import.meta.dir, '../../../src'))].flatMap(([file, { text }]) =>
    [...text.matchAll(CHANGE)].filter(([match]) => isOwn(match)).map(([match]) => `src/${file}.ts: ${match}`),
  )
  expect(found).toEqual([])
})
