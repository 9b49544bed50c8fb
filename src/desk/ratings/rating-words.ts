/** The words of the letter that asks for a rating, and of the page that its links open. */
import type { Language } from '../../base/language'

type Words = {
  /** For the attribute `lang`. */
  lang: string
  question: string
  hello: string
  is_done(code: string, subject: string): string
  good: string
  bad: string
  asks_again: string
  is_open: string
  comment: string
  send: string
  thanks: string
  may_change: string
  is_over: string
  is_over_why: string
  choose: string
  too_long: string
  too_often: string
}

const ENGLISH: Words = {
  lang: 'en',
  question: 'How was our help?',
  hello: 'Hello,',
  is_done: (code, subject) => `your request “${subject}” (${code}) is done. How was our help?`,
  good: 'Good',
  bad: 'Not good',
  asks_again: 'The page asks once more before your answer counts. The links are good for 30 days, and for you alone.',
  is_open: 'Is something still open? Just answer this mail.',
  comment: 'Would you like to tell us more?',
  send: 'Send',
  thanks: 'Thank you!',
  may_change: 'Your answer is with us. You may change it by the link in the mail, as long as that is good.',
  is_over: 'This link is not good any more',
  is_over_why: 'Such links are good for 30 days. You can always answer our mail.',
  choose: 'Please choose one of the two.',
  too_long: 'Please write at most 1,000 characters.',
  too_often: 'That was too often. Please try again in a minute.',
}

const GERMAN: Words = {
  lang: 'de',
  question: 'Wie war unsere Hilfe?',
  hello: 'Guten Tag,',
  is_done: (code, subject) => `Ihre Anfrage „${subject}“ (${code}) ist erledigt. Wie war unsere Hilfe?`,
  good: 'Gut',
  bad: 'Nicht gut',
  asks_again: 'Die Seite fragt noch einmal nach, bevor Ihre Antwort zählt. Die Links gelten 30 Tage und nur für Sie.',
  is_open: 'Ist noch etwas offen? Antworten Sie einfach auf diese Mail.',
  comment: 'Möchten Sie uns mehr sagen?',
  send: 'Senden',
  thanks: 'Vielen Dank!',
  may_change: 'Ihre Antwort ist bei uns. Über den Link in der Mail können Sie sie ändern, solange er gilt.',
  is_over: 'Dieser Link gilt nicht mehr',
  is_over_why: 'Solche Links gelten 30 Tage. Auf unsere Mail können Sie immer antworten.',
  choose: 'Bitte wählen Sie eines von beiden.',
  too_long: 'Bitte schreiben Sie höchstens 1.000 Zeichen.',
  too_often: 'Das war zu oft. Bitte versuchen Sie es in einer Minute noch einmal.',
}

export function ratingWords(language: Language): Words {
  return language === 'german' ? GERMAN : ENGLISH
}
