/**
 * Keeps what a person writes in a ticket, a reply or a note, as a draft of the service. Another page of the person may
 * write the same draft: then both texts stay until the person chooses.
 */
import type { Draft, DraftSending } from '../../../desk/drafts/model'
import type { Message } from '../../../desk/messages/model'
import { type Api, KEPT_ALIVE_CHARACTERS, Refusal, randomId, trouble } from '../api'
import { Cell } from '../cell'
import { learn } from '../events'
import { t } from '../words/catalogue'
import { EMPTY, EVERYBODY, isSame, keptOf, saidIn, saidWords, seenOf, shownText, type Written } from './written'

const REST_MS = 1000
/** Text that is written without a rest is saved so often. */
const MOST_MS = 5000
const AGAIN_MS = 10_000
/** A notice comes within this time. */
const FRESH_MS = 3000
/** Pages that save the same draft at the same time do so one after the other. */
const TRIES = 5

/** Changes of the ticket that go with an answer. */
export type SentChanges = NonNullable<DraftSending['changes']>

export class Writing {
  readonly cell = new Cell(EMPTY)
  /** Grows with each change: what was asked for before it is old. */
  turn = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #changed_ms: number | undefined
  #touched_ms = Number.NEGATIVE_INFINITY
  #saving: Promise<boolean> | undefined
  /** Somebody waits until all is saved, what is typed meanwhile too. */
  #has_to_end = false
  #is_over = false

  constructor(
    private readonly api: Api,
    private readonly ticket_id: string,
    readonly is_internal: boolean,
  ) {}

  get isEmpty(): boolean {
    return saidWords(this.cell.value).body === ''
  }

  /** Tells if there is nothing here, nor a draft of it at the service. */
  get isBlank(): boolean {
    return this.isEmpty && !this.cell.value.kept && !this.#saving
  }

  /** Tells if the service does not have it as it is. */
  get isUnsaved(): boolean {
    const { kept, based_on } = this.cell.value
    if (this.#is_over) return false
    if (!kept) return !this.isEmpty
    const is_seen = this.is_internal || based_on === undefined || based_on === kept.based_on
    return !isSame(kept, saidIn(this.cell.value)) || !is_seen
  }

  /** Tells if it was changed on this page just now: what the service tells of it is known here. */
  get isFresh(): boolean {
    return this.#saving !== undefined || performance.now() - this.#touched_ms < FRESH_MS
  }

  /** Tells if leaving the page now would lose something: a last save may fail, or is refused. */
  get isAtRisk(): boolean {
    const { kept, other, fault } = this.cell.value
    const is_large = saidWords(this.cell.value).body.length > KEPT_ALIVE_CHARACTERS
    const is_odd = !!other || !!fault || !!this.#saving || is_large || (kept !== undefined && kept.etag === null)
    return this.isUnsaved && (is_odd || trouble.value !== '' || !navigator.onLine)
  }

  /** Takes what was written. @param messages those that the writer sees */
  write(part: Partial<Written>, messages: Message[]): void {
    const is_begun = this.cell.value.kept !== undefined || !this.isEmpty
    this.#set({ key: undefined, ...(!is_begun && seenOf(messages)), ...part })
    this.#changed_ms ??= performance.now()
    this.#plan(Math.max(0, Math.min(REST_MS, this.#changed_ms + MOST_MS - performance.now())))
  }

  /** Remembers that the writer was shown these messages. */
  see(messages: Message[]): void {
    this.#set(seenOf(messages))
    this.#plan(REST_MS)
  }

  /**
   * Takes what the service has, unless something is written here that it has not.
   * @param turn the one at which the drafts were asked for
   * @returns false when the draft was here, and is gone
   */
  take(drafts: Draft[], me_id: string, turn: number, messages: Message[]): boolean {
    const { kept } = this.cell.value
    if (turn !== this.turn || this.#saving || this.isUnsaved) return true
    const draft = drafts.find((one) => (kept ? one.id === kept.id && one.send_at === null : this.#isOwn(one, me_id)))
    const is_known = draft && kept && isSame(kept, keptOf(draft, null)) && kept.based_on === draft.based_on
    if (draft && !is_known) this.use(draft, messages)
    if (draft || !kept) return true
    this.#become(EMPTY)
    return false
  }

  #isOwn({ author, is_internal, send_at }: Draft, me_id: string): boolean {
    return author.type === 'user' && author.id === me_id && is_internal === this.is_internal && send_at === null
  }

  /** Goes on with a draft, instead of what is here. */
  use(draft: Draft, messages: Message[], etag: string | null = null): void {
    const { format, attachments, cc, quote, based_on, mentions } = draft
    const seen = messages.filter(({ id, is_internal, created_at }) =>
      is_internal ? created_at <= draft.updated_at : id <= (based_on ?? ''),
    )
    const kept = keptOf(draft, etag)
    const written = { text: shownText(draft), format, files: attachments, cc, quote, mentions, kept }
    this.#become({ ...seenOf(seen), based_on: based_on ?? undefined, ...written })
  }

  /** Keeps what is written here instead of what was written elsewhere. */
  keepThis(): void {
    const { draft, etag } = this.cell.value.other!
    this.#set({ other: undefined, kept: keptOf(draft, etag) })
    this.#plan(0)
  }

  /**
   * Saves what the service has not yet.
   * @param has_to_end whether what is typed meanwhile is saved too, instead of after the next rest
   * @returns false when it could not be saved
   */
  save(has_to_end = true): Promise<boolean> {
    this.#plan(undefined)
    this.#changed_ms = undefined
    this.#has_to_end ||= has_to_end
    this.#saving ??= this.#saveAll().finally(() => {
      this.#saving = undefined
      this.#has_to_end = false
      this.#touched_ms = performance.now()
    })
    return this.#saving
  }

  /**
   * Sends the draft; what is written here is empty then.
   * @param changes of the ticket, which are made with it or not at all
   * @throws Refusal: with the code DRAFT_STALE when public messages came that its writer has not seen
   */
  async send(changes: SentChanges = {}): Promise<Message> {
    const key = this.cell.value.key ?? randomId()
    this.#set({ key })
    const said = Object.keys(changes).length > 0 ? { changes } : {}
    const message = await this.#leave(async (path, tag) => {
      const headers = { 'idempotency-key': key, ...tag }
      return (await this.api.post<Message>(`${path}/send`, said, { headers })).data
    })
    learn('drafts', { id: this.ticket_id, step: -1 })
    return message
  }

  /** Has the draft sent at a moment; what is written here is empty then. @throws Refusal */
  async sendLater(send_at: string): Promise<void> {
    await this.#leave((path, tag) => this.api.patch<Draft>(path, { send_at }, tag))
  }

  /** Lets the draft go. @param run gets its path, and the tag that it must still have */
  async #leave<T>(run: (path: string, tag: Record<string, string>) => Promise<T>): Promise<T> {
    this.#set({ is_leaving: true })
    try {
      return await this.#leaveKept(run)
    } finally {
      if (this.cell.value.is_leaving) this.#set({ is_leaving: undefined })
    }
  }

  async #leaveKept<T>(run: (path: string, tag: Record<string, string>) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      await this.save()
      const { kept, other, fault } = this.cell.value
      if (other) throw new Refusal(412, 'CONFLICT', t('composer.choose_first'), {})
      if (this.isUnsaved || !kept) throw new Refusal(0, 'UNSAVED', fault ?? t('composer.unsaved'), {})
      const tag: Record<string, string> = kept.etag ? { 'if-match': kept.etag } : {}
      try {
        const done = await run(`/drafts/${kept.id}`, tag)
        this.#become(EMPTY)
        this.#touched_ms = performance.now()
        return done
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        if (error.status === 404) {
          this.#set({ kept: undefined })
          throw new Refusal(404, error.code, t('composer.gone'), {})
        }
        if (error.status !== 412 || tries >= TRIES) throw error
        await this.#meet(kept.id)
      }
    }
  }

  /** Forgets what is written here: its writer has signed out. */
  drop(): void {
    this.#is_over = true
    this.#become(EMPTY)
  }

  #set(part: Partial<Written>): void {
    this.turn++
    this.cell.value = { ...this.cell.value, ...part }
  }

  #become(written: Written): void {
    this.#plan(undefined)
    this.turn++
    this.cell.value = written
  }

  #plan(ms: number | undefined): void {
    clearTimeout(this.#timer)
    this.#timer = ms === undefined ? undefined : setTimeout(() => void this.save(false), ms)
  }

  async #saveAll(): Promise<boolean> {
    try {
      const goesOn = () => this.isUnsaved && !this.cell.value.other && (this.#has_to_end || !this.#timer)
      for (let tries = 0; goesOn() && tries < TRIES; tries++) await this.#saveOnce()
      if (this.cell.value.fault) this.#set({ fault: undefined })
      if (goesOn()) this.#plan(AGAIN_MS)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (this.#is_over) return false
      this.#set({ fault: error.text })
      if (error.status === 0 || error.status === 429 || error.status >= 500) this.#plan(AGAIN_MS)
    }
    return !this.isUnsaved
  }

  async #saveOnce(): Promise<void> {
    const { kept, based_on, files, cc, quote, mentions } = this.cell.value
    const { body, format } = saidWords(this.cell.value)
    const attachment_ids = files.map(({ id }) => id)
    const copies = cc ? { cc } : kept && kept.cc !== EVERYBODY && { cc }
    const named = (mentions.length > 0 || kept?.mentions) && { mention_user_ids: mentions.map(({ id }) => id) }
    const of_kind = this.is_internal ? named : based_on && { based_on }
    const said = {
      ...{ body, format, attachment_ids, ...copies },
      ...((quote || kept?.quote) && { quote }),
      ...(of_kind || {}),
    }
    if (kept && body === '' && kept.author.type === 'api_key') return this.#set({ kept: undefined })
    if (kept && kept.etag === null) return this.#meet(kept.id)
    const headers = { 'if-match': kept?.etag ?? '' }
    try {
      if (kept && body === '') {
        await this.api.delete(`/drafts/${kept.id}`, undefined, headers)
        learn('drafts', { id: this.ticket_id, step: -1 })
        return this.#set({ kept: undefined })
      }
      const { data, etag } = kept
        ? await this.api.patch<Draft>(`/drafts/${kept.id}`, said, headers)
        : await this.api.post<Draft>(`/tickets/${this.ticket_id}/drafts`, { ...said, is_internal: this.is_internal })
      this.#set({ kept: keptOf(data, etag) })
      if (!kept) learn('drafts', { id: this.ticket_id, step: 1 })
      // A new draft comes without a tag.
      if (etag === null) await this.#meet(data.id)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const existing = error.code === 'DRAFT_EXISTS' ? (error.details.draft as Draft).id : kept?.id
      if (error.code === 'DRAFT_NOT_FOUND') this.#set({ kept: undefined })
      else if (existing && (error.status === 412 || error.code === 'DRAFT_EXISTS')) await this.#meet(existing)
      // It was deleted.
      else if (error.code === 'MESSAGE_NOT_FOUND' && based_on) this.#set({ based_on: undefined })
      else if (error.code === 'USER_NOT_FOUND') this.#forget(error.details.ids as string[])
      else throw error
    }
  }

  /** Names members no more who were removed. */
  #forget(ids: string[]): void {
    this.#set({ mentions: this.cell.value.mentions.filter(({ id }) => !ids.includes(id)) })
  }

  /** Looks what was made of a draft elsewhere. What is written here goes before what it was known as. */
  async #meet(id: string): Promise<void> {
    try {
      const { data: draft, etag } = await this.api.get<Draft>(`/drafts/${id}`)
      const { kept } = this.cell.value
      const next = keptOf(draft, etag)
      const is_as_known = kept?.id === id && isSame(kept, next)
      if (is_as_known || isSame(next, saidIn(this.cell.value))) this.#set({ kept: next })
      else this.#set({ other: { draft, etag } })
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 404) throw error
      this.#set({ kept: undefined })
    }
  }
}
