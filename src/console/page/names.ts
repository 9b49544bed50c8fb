/**
 * People, labels, macros, views, mailboxes, teams and schedules of the organization, for choices. Each list is read
 * once, when it is first needed. Changes that are made here keep it, and events keep the labels.
 */
import { useEffect } from 'preact/hooks'
import type { Label } from '../../desk/labels/model'
import type { Macro } from '../../desk/macros/model'
import type { Schedule } from '../../desk/schedules/model'
import type { Team } from '../../desk/teams/model'
import type { View as SavedView } from '../../desk/views/model'
import type { Mailbox } from '../../mail/mailboxes/model'
import type { User } from '../../people/users/model'
import type { Api, Method } from './api'
import { Cell, useCell } from './cell'
import { onEvent } from './events'
import { readRows } from './lists'
import { attempt } from './ui/toasts'

type Lists = {
  users: User
  labels: Label
  macros: Macro
  views: SavedView
  mailboxes: Mailbox
  teams: Team
  schedules: Schedule
}
type Kind = keyof Lists
type Named = { id: string }

/** More would not fit a choice. */
const MOST = 1000
/** A list that is older is read again when it is needed. */
const OLD_MS = 900_000

type Known = { cell: Cell<Named[] | undefined>; read_ms: number; reading?: Promise<Named[]> }
type All = Record<Kind, Known>

const known = new WeakMap<Api, All>()

function allOf(api: Api): All {
  const found = known.get(api)
  if (found) return found
  const unread = (): Known => ({ cell: new Cell(undefined), read_ms: Number.NEGATIVE_INFINITY })
  const all = {
    ...{ users: unread(), labels: unread(), macros: unread(), views: unread(), mailboxes: unread(), teams: unread() },
    schedules: unread(),
  }
  known.set(api, all)
  api.onWritten = (method, path, data) => heedAnswer(all, method, path, data)
  onEvent((told) => {
    const [, what] = /^label\.(created|updated|deleted)$/.exec(told?.type ?? '') ?? []
    if (what) putName(all.labels, told!.data, what === 'deleted')
  })
  return all
}

function heedAnswer(all: All, method: Method, path: string, data: unknown): void {
  const [, kind, id] = /^\/(users|labels|macros|views|mailboxes|teams|schedules)(?:\/([^/?]+))?$/.exec(path) ?? []
  if (!kind) return
  if (method === 'DELETE') putName(all[kind as Kind], { id: id! }, true)
  else putName(all[kind as Kind], data as Named, false)
}

function putName({ cell }: Known, one: Named, is_gone: boolean): void {
  const others = cell.value?.filter(({ id }) => id !== one.id)
  if (!others) return
  const at = is_gone ? -1 : cell.value!.findIndex(({ id }) => id === one.id)
  cell.value = is_gone ? others : others.toSpliced(at < 0 ? others.length : at, 0, one)
}

/** Reads a list, unless it is known. */
export async function readNames<K extends Kind>(api: Api, kind: K): Promise<Lists[K][]> {
  const one = allOf(api)[kind]
  if (performance.now() - one.read_ms > OLD_MS) {
    one.reading ??= readRows<Named>(api, `/${kind}`, {}, MOST, new AbortController().signal)
      .then(({ rows }) => {
        one.read_ms = performance.now()
        one.cell.value = rows
        return rows
      })
      .finally(() => delete one.reading)
    await one.reading
  }
  return one.cell.value as Lists[K][]
}

/** The list; undefined until it is known. @param is_needed whether it is read if it is not */
export function useNames<K extends Kind>(api: Api, kind: K, is_needed = true): Lists[K][] | undefined {
  const value = useCell(allOf(api)[kind].cell)
  useEffect(() => {
    if (is_needed) void attempt(() => readNames(api, kind))
  }, [api, kind, is_needed])
  return value as Lists[K][] | undefined
}
