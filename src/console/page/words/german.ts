/** All texts in German. */
import { frameGerman } from './frame-german'
import { inboxGerman } from './inbox-german'
import { talkGerman } from './talk-german'

export const german = { ...frameGerman, ...inboxGerman, ...talkGerman }
