/** The timer of the person: it is read with the first ticket that is opened, and known from what is done since. */
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { TimeEntry } from '../../../desk/time-entries/model'
import type { Timer } from '../../../desk/timers/model'
import { type Api, Refusal } from '../api'
import { Cell, useCell } from '../cell'
import { attempt } from '../ui/toasts'

/** Null: none runs. Undefined: not known yet. */
type Known = Cell<Timer | null | undefined>

const timers = new WeakMap<Api, Known>()

/** The timer, which is read when it is asked for at first. */
function timerOf(api: Api): Known {
  const found = timers.get(api)
  if (found) return found
  const cell: Known = new Cell<Timer | null | undefined>(undefined)
  timers.set(api, cell)
  void attempt(() => readInto(cell, api))
  return cell
}

async function readInto(cell: Known, api: Api): Promise<void> {
  cell.value = (await api.get<Timer | null>('/timer/active')).data ?? null
}

export function useTimer(api: Api) {
  const cell = timerOf(api)
  const running = useCell(cell)
  /** Another page of the person may have started or stopped one: then that is shown. */
  const orRead = async <T>(act: Promise<T>): Promise<T> => {
    try {
      return await act
    } catch (error) {
      if (error instanceof Refusal) await readInto(cell, api)
      throw error
    }
  }
  return {
    running,
    async start({ id }: TicketWithMessages) {
      cell.value = (await orRead(api.post<Timer>(`/tickets/${id}/timer/start`))).data
    },
    async stop({ ticket }: Timer): Promise<TimeEntry> {
      const { data } = await orRead(api.post<TimeEntry>(`/tickets/${ticket.id}/timer/stop`))
      cell.value = null
      return data
    },
  }
}
