/** All texts in English: the list of keys that every other language has. */
import { auditEnglish, auditedEnglish } from './audit-english'
import { customersEnglish } from './customers-english'
import { formsEnglish } from './forms-english'
import { frameEnglish } from './frame-english'
import { inboxEnglish } from './inbox-english'
import { mailEnglish } from './mail-english'
import { operationEnglish } from './operation-english'
import { settingsEnglish } from './settings-english'
import { talkEnglish } from './talk-english'

export const english = {
  ...frameEnglish,
  ...inboxEnglish,
  ...talkEnglish,
  ...formsEnglish,
  ...customersEnglish,
  ...settingsEnglish,
  ...operationEnglish,
  ...auditEnglish,
  ...auditedEnglish,
  ...mailEnglish,
} as const
