/**
 * The texts of the page in the language of the browser. Each has a key and stands once in each language; the German
 * ones have the type of the English ones, so that a text that is missing does not compile. Nothing is kept of it.
 */
import type { ComponentChildren } from 'preact'
import { withoutTurns } from '../direction'
import { english } from './english'
import { refusalsEnglish } from './refusals-english'
import type { Forms, Refusals } from './translated'

type Catalogue = Record<Key, string | Forms>
type Key = keyof typeof english

/** Names between braces in a text. */
type NamesIn<T> = T extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never
type NamesOf<K extends Key> = NamesIn<
  (typeof english)[K] extends string ? (typeof english)[K] : (typeof english)[K][keyof (typeof english)[K]]
>
/** Keys of texts that name no value. */
export type PlainKey = { [K in Key]: [NamesOf<K>] extends [never] ? K : never }[Key]
type Values<K extends Key, V> = [NamesOf<K>] extends [never] ? [] : [values: Record<NamesOf<K>, V>]

/** Languages other than English, each in a file of its own that is loaded when it is needed. */
const OTHERS: Record<string, () => Promise<{ texts: Catalogue; refusals: Refusals }>> = {
  de: async () => {
    const { german, refusalsGerman } = await import('./german')
    return { texts: german, refusals: refusalsGerman }
  },
}

let catalogue: Catalogue = english
/** Undefined for English, in which the API answers. */
let refusals: Refusals | undefined
let plural = new Intl.PluralRules('en')

/** Chooses the first language of the browser that the page has, before anything is drawn. */
export async function chooseLanguage(): Promise<void> {
  for (const locale of locales()) {
    const { language } = new Intl.Locale(locale)
    if (language !== 'en' && !OTHERS[language]) continue
    const other = await OTHERS[language]?.()
    if (other) ({ texts: catalogue, refusals } = other)
    plural = new Intl.PluralRules(language)
    document.documentElement.lang = language
    return
  }
}

/** Languages of the browser, for dates and numbers. */
export function locales(): string[] {
  return [...(navigator.languages ?? [navigator.language])]
}

/** A text with the values that it names. `count` chooses its form. */
export function t<K extends Key>(key: K, ...[values]: Values<K, string | number>): string {
  const given = Object.entries((values ?? {}) as Record<string, string | number>)
  const apart = given.map(([name, value]) => [name, typeof value === 'string' ? withoutTurns(value) : value] as const)
  return parts(key, Object.fromEntries(apart)).join('')
}

/** A text with values that are elements, such as a link. */
export function rich<K extends Key>(key: K, ...[values]: Values<K, ComponentChildren>): ComponentChildren[] {
  return parts(key, values as Record<string, ComponentChildren> | undefined)
}

/** An error of the API in the language of the page, as far as it is known. @param message what the API says */
export function refusalText(code: string, message: string): string {
  return refusals?.codes[code] ?? ownWords(code) ?? message
}

function ownWords(code: string): string | undefined {
  return code in refusalsEnglish ? refusalsEnglish[code as keyof typeof refusalsEnglish] : undefined
}

/** The words of the API about a field, in the language of the page. @param code that of the whole answer */
export function faultText(code: string, message: string): string {
  const sentence = message.replace(/, or null$/, '')
  const known = refusals?.fields.find(([pattern]) => pattern.test(sentence))
  if (known) return sentence.replace(...known)
  return code === 'VALIDATION_ERROR' ? message : refusalText(code, message)
}

function parts<T>(key: Key, values: Record<string, T> | undefined): (string | T)[] {
  const entry = catalogue[key]
  const text =
    typeof entry === 'string' ? entry : entry[plural.select(Number(values?.count)) === 'one' ? 'one' : 'other']
  return text.split(/\{(\w+)\}/).map((part, place) => (place % 2 === 0 ? part : (values?.[part] ?? part)))
}
