/** Reads server-sent events, as the HTML standard describes them: `EventSource` cannot send a token. */

/** The lines between two empty lines. `data` is empty when it only keeps the place. */
export type StreamedEvent = { id: string | undefined; event: string; data: string }

/** Reads events up to the end of the body. @throws what reading the body throws, when the connection is lost */
export async function readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  hear: (event: StreamedEvent) => void,
): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  let now: StreamedEvent = { id: undefined, event: '', data: '' }
  const take = (line: string) => {
    if (line === '') {
      hear({ ...now, event: now.event || 'message', data: now.data.slice(0, -1) })
      now = { id: undefined, event: '', data: '' }
      return
    }
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!
    if (name === 'data') now.data += `${value}\n`
    else if (name === 'event') now.event = value
    else if (name === 'id' && !value.includes('\0')) now.id = value
  }
  for (;;) {
    const { value, done } = await reader.read()
    // Lines that no empty line follows are no event.
    if (done) return
    text += value
    // A line may end with CR LF, of which the second is still to come.
    const lines = text.split(/\r\n|\n|\r(?!$)/)
    text = lines.pop()!
    lines.forEach(take)
  }
}
