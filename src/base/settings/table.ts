/**
 * Lists every setting of the service, one entry for each variable of the environment. From this table come `config`
 * with its checks, `bun run cli settings`, the guide's table (src/guide/operate.md) and the environment of the tests. A
 * new setting is one entry in one of the two files below, and the output of `bun run cli settings --markdown` pasted
 * into the guide, which a test compares.
 */
import { BACKUP_SETTINGS } from './backup-settings'
import { LETTER_SETTINGS } from './letter-settings'
import { MAIL_SETTINGS } from './mail-settings'
import { SERVICE_SETTINGS } from './service-settings'

export const SETTINGS = { ...SERVICE_SETTINGS, ...BACKUP_SETTINGS, ...LETTER_SETTINGS, ...MAIL_SETTINGS }

export type SettingName = keyof typeof SETTINGS
