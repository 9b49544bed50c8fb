/** Which folders a backup may be in, and what is left in one that is refused. */
import { afterAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openOwnVault } from '../../../src/operate/continuous/own-target'
import { prepareTarget } from '../../../src/operate/continuous/start-backup'
import { contentOf } from '../../../src/operate/continuous/vault'
import { withSettings } from '../../support/settings'

const base = fs.mkdtempSync(path.join(os.tmpdir(), 'place-'))
const DATA_DIR = path.join(base, 'data')
fs.mkdirSync(DATA_DIR)

afterAll(() => fs.rmSync(base, { recursive: true, force: true }))

const at = (...names: string[]) => path.join(base, ...names)
function prepare(BACKUP_TO: string) {
  using _ = withSettings({ DATA_DIR, BACKUP_TO })
  return prepareTarget()
}

test('a folder that goes with DATA_DIR is refused, by whatever way it is reached', () => {
  fs.symlinkSync(DATA_DIR, at('link'))
  fs.symlinkSync(base, at('above'))
  for (const place of [DATA_DIR, `${DATA_DIR}/`, at('data/backup'), at('link'), at('link/backup'), base, at('above')]) {
    expect(() => prepare(place)).toThrow('DATA_DIR are one folder, or one is in the other')
  }
  expect(fs.readdirSync(DATA_DIR)).toEqual([])
})

test('a folder of other things is refused, and a link that leads nowhere', () => {
  fs.mkdirSync(at('others'))
  fs.writeFileSync(at('others/report'), '')
  expect(() => prepare(at('others'))).toThrow('holds other files, such as report')
  fs.writeFileSync(at('others/manifest'), '')
  expect(prepare(at('others'))).toBe(at('others'))
  fs.symlinkSync(at('nowhere'), at('dangling'))
  expect(() => prepare(at('dangling'))).toThrow('cannot be made: EEXIST')
  fs.writeFileSync(at('file'), '')
  expect(() => prepare(at('file'))).toThrow('is no folder')
  expect(prepare(at('new'))).toBe(at('new'))
})

test('no key is left in a place that is only read', async () => {
  const BACKUP_TO = at('empty')
  fs.mkdirSync(BACKUP_TO)
  using _ = withSettings({ DATA_DIR, BACKUP_TO, BACKUP_PASSPHRASE: 'correct horse battery staple' })
  const vault = await openOwnVault('leave')
  await expect(contentOf(vault, 'manifest')).rejects.toThrow()
  expect(fs.readdirSync(BACKUP_TO)).toEqual([])
})
