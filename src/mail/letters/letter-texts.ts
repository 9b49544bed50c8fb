/** The texts of letters, and the links in them. */
import { config } from '../../base/config'
import type { NOTIFY_REASONS } from '../../base/db/schema'
import type { SwitchedOff } from '../../delivery/told/tell-admins'

/** Characters of a name in a letter: a longer one could be a message. */
const MAX_NAME = 80

export type LetterText = { subject: string; text: string; html?: string }

/** A letter as it leaves. */
export type ReadyLetter = LetterText & {
  /** The mailbox that sends it; null for the operator's server. */
  mailbox_id: string | null
  recipient: string
  /** Its name in From: it leaves like an answer, by whatever server the mailbox has. */
  from_name?: string
  /** Where its answer goes, when that is not the sender. */
  reply_to?: string | undefined
  /** Makes its Message-ID, without angle brackets. @param domain of the sender */
  messageId(domain: string): string
}

/** Writes the letter with the link of an invitation. */
export function invitationLetter({ organization, inviter, token }: InvitationFields): LetterText {
  const name = plainName(organization)
  return {
    subject: `Invitation to ${name}`,
    text: `${plainName(inviter)} invites you to work on the support tickets of ${name}.

Open this link within 7 days to accept or to decline:

${invitationLink(token)}

The link is for you alone: do not pass it on. If you do not know ${name}, ignore this email, and nothing happens.
`,
  }
}

type InvitationFields = { organization: string; inviter: string; token: string }

/** Returns the link that opens an invitation. */
export function invitationLink(token: string): string {
  return linkTo(config.INVITATION_URL, token)
}

/** Writes the letter with the link for a forgotten password. */
export function resetLetter(token: string): LetterText {
  return {
    subject: 'Set a new password',
    text: `Somebody, probably you, asked for a new password of the account with this address.

Open this link within an hour to set it:

${linkTo(config.PASSWORD_RESET_URL, token)}

If it was not you, ignore this email: the password stays as it is.
`,
  }
}

/** The letters about what was switched off. */
const OFF = {
  webhook: {
    subject: (of: string) => `A webhook of ${of} has failed`,
    meaning: (of: string) => `A webhook of ${of} is switched to failed. Events wait for it now.`,
    remedy: 'Mend the receiver or the filter, then set the webhook active again. What has waited too long is not sent.',
  },
  sla_policy: {
    subject: (of: string) => `An SLA policy of ${of} is switched off`,
    meaning: (of: string) =>
      `An SLA policy of ${of} is switched off, because it would have promised more than was meant.`,
    remedy: 'Say anew what tickets and what hours it is for, then switch it on again.',
  },
  rule: {
    subject: (of: string) => `A rule of ${of} is switched off`,
    meaning: (of: string) => `A rule of ${of} is switched off. Nothing is done by it any more.`,
    remedy: 'Mend its macro or its filter, then set the rule active again.',
  },
  retention_rule: {
    subject: (of: string) => `A retention rule of ${of} is switched off`,
    meaning: (of: string) => `A retention rule of ${of} is switched off, because it would have fitted more tickets.`,
    remedy: 'Say anew what tickets it is for, then switch it on again.',
  },
}

/** Writes the letter about something that was switched off. */
export function switchedOffLetter(organization: string, off: SwitchedOff): LetterText {
  const { subject, meaning, remedy } = OFF[off.kind]
  const of = plainName(organization)
  return {
    subject: subject(of),
    text: `${meaning(of)}

${namesOf(off)}
Error: ${off.error}

${remedy}
`,
  }
}

function namesOf(off: SwitchedOff): string {
  switch (off.kind) {
    case 'webhook':
      return `Webhook: ${off.id}\nHost: ${off.name}`
    case 'sla_policy':
      return `Policy: ${plainName(off.name)}`
    case 'rule':
      return `Rule: ${plainName(off.name)}\nId: ${off.id}`
    case 'retention_rule':
      return `Rule: ${off.name}`
  }
}

/** A thing that a member is told of a ticket. */
export type NewsLine = {
  reason: (typeof NOTIFY_REASONS)[number]
  /** The writer of the message; empty without one. */
  name: string
  is_internal: boolean
  excerpt: string
}

type NewsFields = {
  organization_id: string
  ticket: { id: string; code: string; subject: string }
  lines: NewsLine[]
  /** Gets the answer to the letter. */
  answer: 'customer' | 'note' | 'nobody'
}

/** The first line of a letter that can be answered: what stands above it is the answer (`mail/parse/reply-text.ts`). */
const ABOVE = {
  customer: '##- Reply above this line to answer the customer -##\n\n',
  note: '##- Reply above this line to add a note for the team -##\n\n',
  nobody: '',
}

/**
 * Writes the letter that tells a member of a ticket. The code has no brackets: a subject that is answered leads
 * nowhere.
 */
export function newsLetter({ organization_id, ticket, lines, answer }: NewsFields): LetterText {
  const { id, code, subject } = ticket
  const told = lines.map(({ excerpt, ...line }) => {
    return excerpt === '' ? sentenceOf(line) : `${sentenceOf(line)}\n\n> ${excerpt}`
  })
  return {
    subject: `${code}: ${plainName(subject)}`,
    text: `${ABOVE[answer]}${told.join('\n\n')}

${ticketLink(organization_id, id)}

You say for what you get such mail: ${config.BASE_URL}/#/${organization_id}/settings/notify
`,
  }
}

/** Returns the address of a ticket in the console. */
export function ticketLink(organization_id: string, ticket_id: string): string {
  return `${config.BASE_URL}/#/${organization_id}/tickets/${ticket_id}`
}

function sentenceOf({ reason, name }: Pick<NewsLine, 'reason' | 'name'>): string {
  const writer = plainName(name)
  switch (reason) {
    case 'assigned':
      return 'The ticket is assigned to you.'
    case 'reply_on_mine':
      return `${writer} wrote:`
    case 'mentioned':
      return `${writer} named you in a note:`
    case 'new_unassigned':
      return writer === '' ? 'A new ticket is assigned to nobody.' : `${writer} opened a ticket, assigned to nobody:`
    case 'draft_kept':
      return 'A draft could not be sent at its time, and is kept.'
  }
}

function linkTo(page: string, token: string): string {
  const link = new URL(page)
  link.searchParams.set('token', token)
  return link.href
}

/**
 * Makes a name that others chose safe to stand in a letter of the service: one line, at most 80 characters, and nothing
 * that a mail program turns into a link, such as `https://a.example` or `a.example`.
 */
export function plainName(text: string): string {
  const line = text
    .replace(/:?\/\/+/g, ' ')
    .replace(/\.(?=\S)/g, '. ')
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
  const characters = [...line]
  if (characters.length <= MAX_NAME) return line
  return `${characters.slice(0, MAX_NAME - 1).join('')}…`
}
