/** Which base copy restores a moment, and which are kept. */
import { expect, test } from 'bun:test'
import type { Chain, Manifest } from '../../../src/operate/continuous/chain-manifest'
import { baseBefore, chooseBase } from '../../../src/operate/continuous/choose-base'
import { follows, isNeeded, placeOf } from '../../../src/operate/continuous/log-pieces'
import { keptChains } from '../../../src/operate/continuous/prune'
import { withSettings } from '../../support/settings'

const piece = (n: number) => `0000000100000000${n.toString(16).toUpperCase().padStart(8, '0')}`
const at = (day: number) => `2026-01-${String(day).padStart(2, '0')}T00:00:00.000Z`
const base = (day: number) => ({
  id: crypto.randomUUID(),
  started_at: at(day),
  ended_at: at(day),
  log: { first: piece(day), last: piece(day), label: '' },
  parts: 1,
  bytes: 1,
})
const chain = (days: number[], ended?: number): Chain => ({
  id: crypto.randomUUID(),
  bases: days.map(base),
  ended_at: ended ? at(ended) : null,
})
const manifestOf = (chains: Chain[]) => ({ chains }) as Manifest
const chosen = (chains: Chain[], until?: string) =>
  chooseBase(manifestOf(chains), until ? Date.parse(until) : undefined, 'there')

test('a moment is restored from the last copy before it, and by no more of the log than can be needed', () => {
  const chains = [chain([2, 4, 6])]
  expect(chosen(chains).base.ended_at).toBe(at(6))
  expect(chosen(chains).last).toBeUndefined()
  const { base: found, last } = chosen(chains, '2026-01-05T12:00:00Z')
  expect([found.ended_at, last]).toEqual([at(4), piece(6)])
  expect(chosen(chains, at(4)).base.ended_at).toBe(at(4))
})

test('a copy that is damaged can be replaced by the one before it in its chain', () => {
  const chains = [chain([1], 1), chain([2, 4])]
  const before = baseBefore(chosen(chains))!
  expect([before.base.ended_at, before.last]).toEqual([at(2), undefined])
  expect(baseBefore(before)).toBeUndefined()
})

test('a moment that is in no chain is refused, and the answer says which are', () => {
  const chains = [chain([2], 3), chain([5])]
  expect(() => chosen(chains, '2026-01-01T00:00:00Z')).toThrow(`begins at ${at(2)}`)
  expect(() => chosen(chains, '2026-01-04T00:00:00Z')).toThrow(`until ${at(3)}, and from ${at(5)}`)
  expect(chosen(chains, '2026-01-02T12:00:00Z').chain).toBe(chains[0]!)
  expect(() => chosen([])).toThrow('no complete copy')
})

test('what is kept restores every moment of BACKUP_KEEP_DAYS, and nothing older is', () => {
  using _ = withSettings({ BACKUP_KEEP_DAYS: 3 })
  const kept = keptChains([chain([1, 2], 3), chain([4, 5, 8]), chain([9])], Date.parse(at(10)))
  expect(kept.map(({ bases }) => bases.map(({ ended_at }) => ended_at))).toEqual([[at(5), at(8)], [at(9)]])
  const only_old = keptChains([chain([1, 2])], Date.parse(at(30)))
  expect(only_old[0]!.bases.map(({ ended_at }) => ended_at)).toEqual([at(2)])
})

test('pieces follow each other across the end of a group', () => {
  expect(follows('000000010000000100000000', '0000000100000000000000FF')).toBe(true)
  expect(follows('000000010000000000000005', '000000010000000000000003')).toBe(false)
  expect(follows('000000020000000000000004', '000000010000000000000003')).toBe(false)
  expect(placeOf('000000010000000100000002').number).toBe(258)
  const names = ['00000002.history', '000000010000000000000003', '000000010000000000000003.partial', '../../etc/passwd']
  expect(names.filter(isNeeded)).toEqual(names.slice(0, 2))
})
