/** The texts of letters, and the links in them. */
import { config } from '../../base/config'

/** Characters of a name in a letter: a longer one could be a message. */
const MAX_NAME = 80

export type LetterText = { subject: string; text: string }

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

/** Writes the letter about a webhook that has failed. */
export function webhookLetter({ organization, id, host, error }: WebhookFields): LetterText {
  const name = plainName(organization)
  return {
    subject: `A webhook of ${name} has failed`,
    text: `A webhook of ${name} is switched to failed. Events wait for it now.

Webhook: ${id}
Host: ${host}
Error: ${error}

Mend the receiver or the filter, then set the webhook active again. What has waited too long is not sent.
`,
  }
}

type WebhookFields = { organization: string; id: string; host: string; error: string }

function linkTo(page: string, token: string): string {
  const link = new URL(page)
  link.searchParams.set('token', token)
  return link.href
}

/**
 * Makes a name that others chose safe to stand in a letter of the service: one line, at most 80 characters, and nothing
 * that a mail program turns into a link, such as `https://a.example` or `a.example`.
 */
function plainName(text: string): string {
  const line = text
    .replace(/:?\/\/+/g, ' ')
    .replace(/\.(?=\S)/g, '. ')
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
  const characters = [...line]
  if (characters.length <= MAX_NAME) return line
  return `${characters.slice(0, MAX_NAME - 1).join('')}…`
}
