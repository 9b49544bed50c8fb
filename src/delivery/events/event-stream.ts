/**
 * One stream of events (server-sent events). It reads what its cursor has not passed yet at the pace of its reader,
 * then gets what the feed of its organization finds. A reader with too much unread is cut, and comes again with its
 * cursor.
 */
import type { ErrorCode } from '../../base/errors'
import { byteSteps } from '../../base/flow/byte-steps'
import type { Scope } from '../../base/scope'
import type { EventType } from '../webhooks/publish'
import type { StreamFilter } from './model'
import { compare, cursorAt, type Place } from './place'
import { readItems, readPart } from './queries'
import { readOrder } from './settled-place'

const UNREAD_MOST_BYTES = 1024 * 1024
/** Events that are read at once while the reader catches up. */
const PART = 100
const KEEP_MS = 14_000

/** An event as the feed of an organization finds it. */
type Item = Place & { type: EventType; resource_id: string | null; ticket_id: string | null; item: string }

export class EventStream {
  /** The rights of the reader now. */
  types: ReadonlySet<EventType>
  readonly body: ReadableStream<Uint8Array>
  #controller!: ReadableStreamDefaultController<Uint8Array>
  readonly #unread: Uint8Array[] = []
  #unread_bytes = 0
  #wake = () => {}
  #ended: ErrorCode | undefined
  #is_over = false
  #sent_ms = 0
  /** The place up to which it has read itself: the feed may be some events behind. */
  #joined_at: Place
  readonly #pieces: AsyncGenerator<Uint8Array>

  /**
   * @param place where the reader stands
   * @param join takes the stream into the feed of its organization, unless that is further on than the place
   * @param judge ends the stream when its reader has lost the rights
   * @param leave is called once, however the stream ends
   */
  constructor(
    private readonly scope: Scope,
    private readonly filter: StreamFilter,
    private readonly epoch: string,
    types: EventType[],
    place: Place,
    private readonly join: (place: Place) => boolean,
    private readonly judge: () => Promise<void>,
    private readonly leave: () => void,
  ) {
    this.types = new Set(types)
    this.#joined_at = place
    this.#pieces = this.#read(place)
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: async (controller) => {
          const { value, done } = await this.#pieces.next()
          if (this.#is_over) return
          if (!done) return controller.enqueue(value)
          this.#finish()
          controller.close()
        },
        cancel: () => this.#finish(),
      },
      { highWaterMark: 0 },
    )
  }

  /** Ends the stream with an event that says why, before what is unread. */
  end(code: ErrorCode): void {
    this.#ended ??= code
    this.#unread.length = 0
    this.#wake()
  }

  /** Hands over an event, unless it is hidden. @param texts what other streams got of it, by filter */
  offer(event: Item, texts: Map<string, Uint8Array>): void {
    if (compare(event, this.#joined_at) <= 0) return
    const { types, resource_ids } = this.filter
    if (!this.types.has(event.type)) return
    if (resource_ids && ![event.resource_id, event.ticket_id].some((id) => id && resource_ids.includes(id))) return
    const name = `${types} ${resource_ids}`
    const text = texts.get(name) ?? this.#textOf(event)
    texts.set(name, text)
    this.#sent_ms = performance.now()
    this.#push(text)
  }

  /** Hands over what has no place among the events. */
  tell(text: Uint8Array): void {
    this.#push(text)
  }

  /** Keeps the place of a reader who was told nothing for a while. */
  keep(place: Place): void {
    if (performance.now() - this.#sent_ms <= KEEP_MS || this.#unread.length > 0) return
    this.#push(this.#keeping(compare(place, this.#joined_at) > 0 ? place : this.#joined_at))
  }

  /** Breaks the connection. */
  cut(): void {
    if (this.#is_over) return
    this.#controller.error(new Error('The stream has ended: too much is unread'))
    this.#finish()
  }

  async *#read(place: Place): AsyncGenerator<Uint8Array> {
    yield this.#keeping(place)
    try {
      yield* this.#catchUp(place)
    } catch {
      this.#ended ??= 'SERVICE_UNAVAILABLE'
    }
    for (;;) {
      const text = this.#unread.shift()
      if (text) {
        this.#unread_bytes -= text.length
        yield text
      } else if (this.#ended) {
        yield encode(`event: end\ndata: ${JSON.stringify({ code: this.#ended })}\n\n`)
        return
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
  }

  /** Reads up to the place at which the feed stands. */
  async *#catchUp(start: Place): AsyncGenerator<Uint8Array> {
    for (let place = start; !this.#ended; ) {
      const order = await readOrder(this.scope)
      if (order.epoch !== this.epoch) return this.end('SERVICE_UNAVAILABLE')
      const asked = { after: place, order, types: [...this.types], filter: this.filter, most: PART }
      const part = await readPart(this.scope, asked)
      for (const step of byteSteps(part.found)) {
        const events = await readItems(this.scope, step)
        await this.judge()
        for (const event of events) {
          if (this.#ended) return
          yield this.#textOf(event)
        }
      }
      place = part.end
      this.#joined_at = place
      if (!part.has_more && this.join(place)) return
    }
  }

  #textOf({ type, item, ...place }: Omit<Item, 'resource_id' | 'ticket_id'>): Uint8Array {
    return encode(`id: ${this.#cursorAt(place)}\nevent: ${type}\ndata: ${item}\n\n`)
  }

  #keeping(place: Place): Uint8Array {
    this.#sent_ms = performance.now()
    return encode(`id: ${this.#cursorAt(place)}\n\n`)
  }

  #cursorAt({ place, nth }: Place): string {
    return cursorAt(this.scope.organization_id, this.filter, this.epoch, { place, nth })
  }

  #push(text: Uint8Array): void {
    if (this.#is_over || this.#ended) return
    if (this.#unread_bytes > UNREAD_MOST_BYTES) {
      this.cut()
      return
    }
    this.#unread.push(text)
    this.#unread_bytes += text.length
    this.#wake()
  }

  #finish(): void {
    if (this.#is_over) return
    this.#is_over = true
    this.#ended ??= 'SERVICE_UNAVAILABLE'
    this.#unread.length = 0
    this.#wake()
    this.leave()
  }
}

const encoder = new TextEncoder()

function encode(text: string): Uint8Array {
  return encoder.encode(text)
}
