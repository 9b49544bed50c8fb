/** The styles of the page: one scale of texts and of gaps, which stands in one place. */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'

const FOLDER = new URL('../../src/console/page/styles/', import.meta.url).pathname
const SIZE = /^(var\(--text(-\w+)?\)|inherit)$/
const FONT = /^(inherit|(\d+ )?var\(--text(-\w+)?\) \/ [\d.]+(rem)? var\(--font\))$/
/** A token, one that is turned around or doubled, or a share of the window. */
const GAP = /^(0|auto|100%|\d+vh|var\(--[\w-]+\)|calc\((-?\d+ \* )?var\(--[\w-]+\)( [-+] var\(--[\w-]+\))?\))$/
/** The room of a toast on a phone, and that of the name of a cell. */
const ROOMS = ['margin-block-end: 7rem', 'padding-inline-start: 8rem']

/** The declarations of all files but that of the tokens: file, property, value. */
async function declarations(): Promise<[string, string, string][]> {
  const all: [string, string, string][] = []
  for await (const file of new Glob('*.css').scan(FOLDER)) {
    if (file === 'tokens.css') continue
    const text = (await Bun.file(FOLDER + file).text()).replace(/\/\*.*?\*\//gs, '')
    for (const [, property, value] of text.matchAll(/^\s*([a-z-]+):\s*([^;{}]+);/gm))
      all.push([file, property!, value!])
  }
  return all
}

/** The parts of a value that stand beside each other. */
function partsOf(value: string): string[] {
  return value.match(/(?:[^\s()]+\((?:[^()]|\([^()]*\))*\)|[^\s()]+)/g) ?? []
}

test('every text has a size of the scale', async () => {
  const all = await declarations()
  const wrong = all.filter(
    ([, property, value]) =>
      (property === 'font-size' && !SIZE.test(value)) || (property === 'font' && !FONT.test(value)),
  )
  expect(wrong).toEqual([])
  expect(all.filter(([, property]) => property === 'font-size').length).toBeGreaterThan(30)
})

test('every gap is one of the scale', async () => {
  const gaps = (await declarations()).filter(([, property]) =>
    /^(margin|padding|gap|row-gap|column-gap)\b/.test(property),
  )
  const wrong = gaps.filter(
    ([, property, value]) =>
      !ROOMS.includes(`${property}: ${value}`) &&
      !partsOf(value.replace(' !important', '')).every((one) => GAP.test(one)),
  )
  expect(wrong).toEqual([])
  expect(gaps.length).toBeGreaterThan(150)
})

test('every token that is used exists, and every one that exists is used', async () => {
  const tokens = await Bun.file(`${FOLDER}tokens.css`).text()
  const known = new Set([...tokens.matchAll(/^\s*(--[\w-]+):/gm)].map(([, name]) => name!))
  const used = new Set((await declarations()).flatMap(([, , value]) => value.match(/--[a-z][\w-]*/g) ?? []))
  expect([...used].filter((name) => !known.has(name))).toEqual([])
  expect([...known].filter((name) => !used.has(name))).toEqual([])
})
