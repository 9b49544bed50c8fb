/** Reads a stream of events as a client does. */
import { stateOf } from '../../src/http/request/request'
import { api, type Client } from './api'

/** The lines between two empty lines. */
export type StreamedEvent = { id?: string; event?: string; data?: string }

/** @param client a user, or a program with a key */
export async function openReader(client: Client & { key?: string }, query = '', headers: Record<string, string> = {}) {
  const authorization = client.key ? `ApiKey ${client.key}` : `Bearer ${client.token}`
  const request = new Request(`http://localhost/api/v1/events/stream?${query}`, {
    headers: { authorization, ...headers },
  })
  const response = await api().handle(request)
  return {
    ...(await readerOf(response)),
    /** As if the time of the token were over. */
    expire() {
      Object.assign(stateOf(request).caller!, { expires_at_s: 0 })
    },
  }
}

/** Reads the events of an answer. */
export async function readerOf(response: Response) {
  if (response.status !== 200) throw new Error(`the stream was answered ${response.status} ${await response.text()}`)
  const reader = response.body!.getReader()
  const read: StreamedEvent[] = []
  const decoder = new TextDecoder()
  let text = ''
  /** @returns false at the end */
  const readOn = async () => {
    const { value, done } = await reader.read()
    text += decoder.decode(value, { stream: true })
    const parts = text.split('\n\n')
    text = parts.pop()!
    read.push(...parts.map(parse))
    return !done
  }
  return {
    headers: response.headers,
    /** The next events, as soon as there are so many. */
    async next(count: number): Promise<StreamedEvent[]> {
      while (read.length < count) if (!(await readOn())) throw new Error(`the stream ended: ${JSON.stringify(read)}`)
      return read.splice(0, count)
    },
    /** All up to the end. Rejects when the stream is cut. */
    async rest(): Promise<StreamedEvent[]> {
      while (await readOn());
      return read.splice(0)
    },
    async [Symbol.asyncDispose]() {
      await reader.cancel().catch(() => {})
    },
  }
}

function parse(part: string): StreamedEvent {
  return Object.fromEntries(part.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)))
}
