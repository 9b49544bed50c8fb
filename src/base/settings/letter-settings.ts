/** Settings of letters: the mail of the service itself, such as invitations. */
import { isEmailAddress } from '../address/email'
import { type Setting, url, WrongValue, wholeNumber } from './setting'

/** Reads an address, alone or behind a name: `desk@example.com`, `Desk <desk@example.com>`. */
const sender = (text: string) => {
  const [, name = '', bracketed] = /^(.*?)\s*<([^<>]+)>$/.exec(text) ?? []
  const address = bracketed ?? text
  if (!isEmailAddress(address)) throw new WrongValue('must be an email address, such as desk@example.com')
  return { name: name.replace(/^"(.*)"$/, '$1') || 'Deskwire', address }
}

export const LETTER_SETTINGS = {
  SYSTEM_SMTP_URL: {
    meaning:
      'SMTP server for mail of the service itself: invitations and forgotten passwords. `smtps://user:password@host:465` begins with TLS, `smtp://user:password@host:587` insists on STARTTLS. Nothing is encrypted with `?security=none`, nor with `smtp:` on loopback. Without this setting such mail leaves through the default mailbox of the organization.',
    read: url('smtp:', 'smtps:'),
  },
  SYSTEM_MAIL_FROM: {
    meaning: 'Sender of mail of the service itself: an address, or `Name <address>`.',
    read: sender,
    missing: ({ SYSTEM_SMTP_URL }) => (SYSTEM_SMTP_URL ? 'is required with SYSTEM_SMTP_URL' : undefined),
  },
  INVITATION_URL: {
    meaning: 'Page that the link of an invitation opens. `?token=` is added.',
    read: url('http:', 'https:'),
    default: ({ BASE_URL }) => `${BASE_URL}/invitation`,
    default_words: '`$BASE_URL/invitation`, a page of the service',
  },
  PASSWORD_RESET_URL: {
    meaning: 'Page that the link for a forgotten password opens. `?token=` is added.',
    read: url('http:', 'https:'),
    default: ({ BASE_URL }) => `${BASE_URL}/password-reset`,
    default_words: '`$BASE_URL/password-reset`, a page of the service',
  },
  NOTIFY_GROUP_SECONDS: {
    meaning:
      'Seconds for which letters to a member about one ticket wait after the last one: what happens meanwhile leaves as one letter.',
    read: wholeNumber(0, 86_400),
    default: '300',
  },
} satisfies Record<string, Setting>
