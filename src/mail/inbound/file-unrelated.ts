/**
 * Files messages that do not depend on each other: reads what all of them need, decides, and writes what they become,
 * by as many statements as for one message. A report about delivery, which is rare, takes some more.
 */
import { newId } from '../../base/db/columns'
import type { InboundSteps } from '../../base/metrics/inbound-steps'
import { type Scope, together } from '../../base/scope'
import { type Audience, findAudience, type NewEvent, publishEach } from '../../delivery/webhooks/publish'
import type { ContactRef } from '../../desk/contacts/queries'
import { findOrCreateContacts } from '../../desk/contacts/senders'
import { type AddedMessage, addMessages } from '../../desk/messages/add-messages'
import { createdEvent } from '../../desk/messages/commands'
import { type Conversation, lockConversations, nextMessageId } from '../../desk/messages/conversation'
import { UNKNOWN_SENDER } from '../../desk/messages/draft'
import { getWritten } from '../../desk/messages/queries'
import { addToEach, type CandidatesOfTicket, type Standing } from '../../desk/participants/commands'
import { leaveOut } from '../../desk/participants/leave-out'
import { eventsOfNew } from '../../desk/tickets/changes'
import { type OpenedTicket, openTickets } from '../../desk/tickets/open-tickets'
import { reopenTickets } from '../../desk/tickets/reopen'
import type { EntryActor } from '../../desk/timeline/activity'
import { ticketLink } from '../letters/letter-texts'
import type { Answer } from '../parse/answer-words'
import { type Decision, decideAll } from './decide'
import { draftOf, othersOf, placeOthers, type StoredPart, subjectOf } from './mail-draft'
import type { InboundMail } from './message'
import { recordBounce } from './record-bounce'
import { repliesOfContacts } from './replies-of-contacts'
import { addNoteOf, fileAnswer, fileNote, mayBeAnswerOfTeam, withoutLetter } from './team-mail'
import { findUnanswered } from './unanswered'
import { type FiledMail, writeOutcomes } from './write-outcomes'

/** A message that is to be filed, its attachments, and its words when it may be an answer of a member. */
export type Filing = { mail: InboundMail; parts: StoredPart[]; answer: Answer | null; steps: InboundSteps }

/** Most addresses in `cc` of a message. */
const MAX_CONFIRMED = 20
/** Recipients of one mail that are listed at all. */
const MAX_LISTED = 100

type Opening = Extract<Decision, { rule: 'new' }>
type Reply = Extract<Decision, { outcome: 'message' }>

/** A message with what is decided on it. */
type Decided<D extends Decision = Decision> = Filing & { decision: D }

/** A message of a conversation, as it is written. */
type Written<D extends Opening | Reply = Opening | Reply> = Decided<D> & {
  ticket_id: string
  /** Null when nobody can read who wrote it. */
  contact: ContactRef | null
  actor: EntryActor
  draft: ReturnType<typeof draftOf>
}

/**
 * Files the messages, but of those that lead to one ticket only the first.
 * @param filings in the order in which they arrived; none names another
 * @returns those that were filed
 */
export async function fileUnrelated(scope: Scope, filings: Filing[]): Promise<Set<Filing>> {
  const [decisions, audience] = await together([
    decideAll(
      scope,
      filings.map(({ mail }) => mail),
    ),
    findAudience(scope),
  ])
  const decided = filings.map((filing, index): Decided => ({ ...filing, decision: decisions[index]! }))
  const round = firstOfEachTicket(decided)
  for (const { mail, decision } of round) {
    if (decision.outcome !== 'bounce') continue
    await recordBounce(scope, decision, decision.bounce, mail.content?.bounce ? '' : mail.content?.text)
  }
  const ids = await fileAnswers(scope, round)
  const written = await writeConversations(
    scope,
    round.filter(({ mail }) => !ids.has(mail)),
    audience,
  )
  for (const one of written) ids.set(one.mail, { ticket_id: one.ticket_id, message_id: one.draft.id })
  await writeOutcomes(
    scope,
    round.map(({ mail, decision, steps }): FiledMail => {
      return { mail, decision, steps, about: decision.outcome === 'bounce' ? decision : ids.get(mail) }
    }),
    audience,
  )
  const done = new Set(round.map(({ mail }) => mail))
  return new Set(filings.filter(({ mail }) => done.has(mail)))
}

/** Files the answers of the team, which are rare, one by one. @returns their messages */
async function fileAnswers(scope: Scope, round: Decided[]) {
  const filed = new Map<InboundMail, { ticket_id: string; message_id: string }>()
  for (const { mail, parts, answer, decision } of round) {
    if (decision.outcome !== 'message') continue
    const message = await fileAnswerOf(scope, { mail, parts, answer }, decision)
    if (message) filed.set(mail, message)
  }
  return filed
}

async function fileAnswerOf(scope: Scope, { mail, parts, answer }: Omit<Filing, 'steps'>, decision: Reply) {
  const { ticket_id, named_id, letter } = decision
  if (letter === 'about a note') return fileNote(scope, mail, { answer, parts }, ticket_id)
  if (!answer || !mayBeAnswerOfTeam(mail, decision)) return undefined
  const own = letter ? withoutLetter(answer, ticketLink(scope.organization_id, named_id)) : answer
  return own
    ? fileAnswer(scope, mail, { answer: own, parts }, ticket_id)
    : fileNote(scope, mail, { answer, parts }, ticket_id)
}

/** A message may change what the next one to its ticket finds there, such as its participants. */
function firstOfEachTicket(decided: Decided[]): Decided[] {
  const seen = new Set<string>()
  return decided.filter(({ decision }) => {
    if (!('ticket_id' in decision)) return true
    const is_first = !seen.has(decision.ticket_id)
    seen.add(decision.ticket_id)
    return is_first
  })
}

/** Writes those that become messages of tickets, new ones and others. */
async function writeConversations(scope: Scope, round: Decided[], audience: Audience): Promise<Written[]> {
  const conversing = round.filter(isConversation)
  if (conversing.length === 0) return []
  const drafted = await draftAll(scope, conversing, audience)
  const [openings, replies] = [drafted.filter(isOpening), drafted.filter(isReply)]
  const ticket_ids = replies.map(({ ticket_id }) => ticket_id)
  const conversations = await lockConversations(scope, ticket_ids)
  for (const { ticket_id, draft } of replies) draft.id = nextMessageId(conversations.get(ticket_id)!)
  for (const { draft } of await findUnanswered(scope, replies)) draft.directs_answers = true
  for (const { draft } of openings) Object.assign(draft, await placeOthers(scope, null, draft))
  for (const { ticket_id, draft } of replies) Object.assign(draft, await placeOthers(scope, ticket_id, draft))
  const opened = await openTickets(scope, openings.map(openingOf))
  await together([
    addMessages(
      scope,
      replies.map((one) => additionOf(one, conversations)),
    ),
    addToEach(scope, [...openings.map(peopleOfOpening), ...replies.map((one) => peopleOfReply(one, conversations))]),
  ])
  await leaveOut(
    scope,
    await repliesOfContacts(
      scope,
      replies.filter((one) => isContacts(one, conversations)),
    ),
  )
  const reopened = await reopenAnswered(scope, replies, conversations)
  const read = await getWritten(
    scope,
    drafted.map(({ draft }) => draft),
  )
  const changes = drafted.map((one) => {
    const ticket = opened.get(one.ticket_id)?.ticket
    const created = createdEvent(read.get(one.draft.id)!, ticket ?? conversations.get(one.ticket_id)!)
    const before = ticket ? eventsOfNew(ticket) : []
    const events = [...before, created, ...(reopened.get(one.ticket_id) ?? [])]
    return { events, audience, traceparent: one.steps.traceparent }
  })
  await publishEach(scope, changes)
  for (const { mail, ticket_id, draft } of drafted) {
    const [begun, answered] = [opened.get(ticket_id), conversations.get(ticket_id)]
    const ticket = begun ? { ...begun.ticket, locked_at: begun.locked_at, last_message_id: draft.id } : answered
    if (ticket) await addNoteOf(scope, mail, ticket)
  }
  return drafted
}

/** Finds or creates the contacts of the senders, and drafts the messages in their names. */
async function draftAll(scope: Scope, round: Decided<Opening | Reply>[], audience: Audience): Promise<Written[]> {
  const contacts = await findOrCreateContacts(
    scope,
    round.flatMap(({ mail }) => mail.sender ?? []),
    audience,
  )
  return round.map((one) => {
    const contact = one.mail.sender ? contacts.shift()! : null
    const writer = contact ?? UNKNOWN_SENDER
    const ticket_id = one.decision.outcome === 'message' ? one.decision.ticket_id : newId()
    return {
      ...one,
      ticket_id,
      contact,
      actor: { type: 'contact', id: contact?.id ?? null, name: writer.name },
      draft: draftOf(one.mail, one.parts, writer, one.decision),
    }
  })
}

/** Opens the tickets again that were answered. @returns the events of each, by ticket */
async function reopenAnswered(
  scope: Scope,
  replies: Written<Reply>[],
  conversations: Map<string, Conversation>,
): Promise<Map<string, NewEvent[]>> {
  const answers = replies.filter(({ decision, draft }) => decision.trust.reopens && !draft.auto_reply)
  if (answers.length === 0) return new Map()
  // All were locked at the same time.
  return reopenTickets(scope, answers, conversations.get(answers[0]!.ticket_id)!.locked_at)
}

function openingOf({ ticket_id, mail, contact, actor, draft }: Written<Opening>): OpenedTicket {
  const { mailbox_id } = mail
  return { id: ticket_id, subject: subjectOf(mail), contact_id: contact?.id ?? null, mailbox_id, actor, first: draft }
}

function additionOf(
  { ticket_id, actor, draft }: Written<Reply>,
  conversations: Map<string, Conversation>,
): AddedMessage {
  return { ticket_id, actor, draft, answered: conversations.get(ticket_id)! }
}

function peopleOfOpening({ ticket_id, mail, contact, actor, decision }: Written<Opening>): CandidatesOfTicket {
  const ticket = { id: ticket_id, contact_id: contact?.id ?? null }
  return { ticket, actor, candidates: recipientsOf(mail, decision.trust.opens_with) }
}

/**
 * The recipients of the contact's mail become participants, confirmed as far as its sender can be trusted. Those of
 * anybody else's are only listed, and so is a stranger who writes with an anchor of ours: a forwarded mail must not
 * subscribe anybody.
 */
function peopleOfReply(one: Written<Reply>, conversations: Map<string, Conversation>): CandidatesOfTicket {
  const { ticket_id, mail, actor, decision } = one
  const ticket = conversations.get(ticket_id)!
  const { sender, sender_source } = mail
  const { anchor, trust } = decision
  const is_known = decision.is_known && sender_source !== 'reply_to'
  if (isContacts(one, conversations)) {
    return { ticket, actor, candidates: recipientsOf(mail, trust.adds[anchor]) }
  }
  const stranger = sender && !is_known ? [{ ...sender, standing: 'listed' as const }] : []
  return { ticket, actor, candidates: [...stranger, ...recipientsOf(mail, 'listed')] }
}

function isContacts(
  one: Written<Reply>,
  conversations: Map<string, Conversation>,
): one is Written<Reply> & { contact: ContactRef } {
  return one.contact !== null && conversations.get(one.ticket_id)!.contact_id === one.contact.id
}

/** The recipients of a mail. Of a long list only the first are confirmed: an answer goes to each of them. */
function recipientsOf(mail: InboundMail, standing: Standing): CandidatesOfTicket['candidates'] {
  const most = standing === 'confirmed' ? MAX_CONFIRMED : 0
  return othersOf(mail)
    .slice(0, MAX_LISTED)
    .map((one, index) => ({ ...one, standing: index < most ? 'confirmed' : 'listed' }))
}

function isConversation(one: Decided): one is Decided<Opening | Reply> {
  return ['ticket', 'unparsed', 'message'].includes(one.decision.outcome)
}

function isOpening(one: Written): one is Written<Opening> {
  return one.decision.outcome !== 'message'
}

function isReply(one: Written): one is Written<Reply> {
  return one.decision.outcome === 'message'
}
