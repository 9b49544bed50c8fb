/** All texts in German. */
import { auditedGerman, auditGerman } from './audit-german'
import { customersGerman } from './customers-german'
import { formsGerman } from './forms-german'
import { frameGerman } from './frame-german'
import { inboxGerman } from './inbox-german'
import { mailGerman } from './mail-german'
import { operationGerman } from './operation-german'

export { refusalsGerman } from './refusals-german'

import { settingsGerman } from './settings-german'
import { talkGerman } from './talk-german'

export const german = {
  ...frameGerman,
  ...inboxGerman,
  ...talkGerman,
  ...formsGerman,
  ...customersGerman,
  ...settingsGerman,
  ...operationGerman,
  ...auditGerman,
  ...auditedGerman,
  ...mailGerman,
}
