/** Asks the services of DATA_DIR where their time goes, and prints the files to open. */
import fs from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import { OperatorError } from '../../base/errors'
import type { LineTime, Profile } from '../../base/process/profile'
import type { Command } from '../start/command-line'
import { PROFILE_FOLDER } from '../start/data-dir'

export const PROFILE_COMMAND: Command = {
  name: 'profile',
  options: 'SECONDS',
  meaning: 'Profiles the running service and its parser for 1 to 60 seconds, and prints which lines take the time.',
  needs: 'nothing',
  run: ({ seconds }) => profileServices(String(seconds)),
}

/** The samples of one profile: the engine keeps all of them in memory. */
const MOST_SECONDS = 60
const ROWS = 12
/** The lines of a function with most samples. */
const LINES = 3

/**
 * Profiles each service whose DATA_DIR this is, with the processes that work for it.
 * @param seconds as the operator wrote them, 1 to 60
 * @throws OperatorError when no service answers
 */
async function profileServices(seconds: string): Promise<string> {
  if (!/^\d+$/.test(seconds) || Number(seconds) < 1 || Number(seconds) > MOST_SECONDS) {
    throw new OperatorError(`give whole seconds from 1 to ${MOST_SECONDS}`)
  }
  const folder = path.join(config.DATA_DIR, PROFILE_FOLDER)
  const sockets = fs.existsSync(folder) ? fs.readdirSync(folder) : []
  const all = await Promise.all(sockets.map((socket) => ask(path.join(folder, socket), Number(seconds))))
  const profiles = all.flat()
  if (profiles.length === 0) {
    throw new OperatorError(`no service answers in ${folder}: run this with the environment of the service`)
  }
  const by_name = Map.groupBy(profiles, ({ name }) => name)
  return [...by_name].map(([name, found]) => tableOf(name, found, Number(seconds))).join('\n\n')
}

/** @returns nothing when the service of the socket has ended */
async function ask(socket: string, seconds: number): Promise<Profile[]> {
  const response = await fetch(`http://service/?duration_ms=${seconds * 1000}`, { unix: socket }).catch(() => undefined)
  if (!response) return []
  if (!response.ok) throw new OperatorError(await response.text())
  return (await response.json()) as Profile[]
}

type FunctionTime = Pick<LineTime, 'self' | 'total'> & { name: string; where: string }

function tableOf(name: string, profiles: Profile[], seconds: number): string {
  const lines = profiles.flatMap((one) => one.lines)
  const samples = sumOf(lines, 'self')
  const processor_ms = profiles.reduce((sum, one) => sum + one.processor_ms, 0)
  const processes = profiles.length === 1 ? '' : `, ${profiles.length} processes`
  const functions = [...Map.groupBy(lines, (one) => `${one.file} ${one.name}`).values()].map(functionOf)
  const own = functions.filter(({ where }) => where.startsWith('src/'))
  return [
    `${name}: ${processor_ms} ms of a processor in ${seconds} s, ${samples} samples${processes}`,
    '',
    ...rowsOf(functions, 'self', samples),
    '',
    ...rowsOf(own, 'total', samples),
  ].join('\n')
}

function functionOf(lines: LineTime[]): FunctionTime {
  const [{ file, name }] = lines as [LineTime]
  const most = lines.toSorted((a, b) => b.total - a.total).slice(0, LINES)
  const where = `${file}:${most.map(({ line }) => line).join(',')}`
  return { name: name || '(anonymous)', where, self: sumOf(lines, 'self'), total: sumOf(lines, 'total') }
}

function rowsOf(functions: FunctionTime[], by: 'self' | 'total', samples: number): string[] {
  const most = functions.filter((one) => one[by] > 0).toSorted((a, b) => b[by] - a[by])
  const share = (count: number) => `${((count / samples) * 100).toFixed(1)} %`.padStart(8)
  const rows = most.slice(0, ROWS).map(({ name, where, self, total }) => {
    return `${share(self)}${share(total)}  ${name.padEnd(24)}  ${where}`
  })
  return [`    self   total  ${by === 'self' ? 'most by themselves' : 'most with what they call'}`, ...rows]
}

function sumOf(lines: LineTime[], field: 'self' | 'total'): number {
  return lines.reduce((sum, one) => sum + one[field], 0)
}
