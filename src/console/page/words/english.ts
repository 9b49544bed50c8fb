/** All texts in English: the list of keys that every other language has. */
import { frameEnglish } from './frame-english'
import { inboxEnglish } from './inbox-english'
import { talkEnglish } from './talk-english'

export const english = { ...frameEnglish, ...inboxEnglish, ...talkEnglish } as const
