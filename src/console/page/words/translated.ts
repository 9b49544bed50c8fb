/** The shape of a translation, so that none of it is missing. */

/** The forms of a text that depend on its `count`. */
export type Forms = Record<'one' | 'other', string>
/** The same keys, with forms where the English has them. */
export type Translated<T> = { readonly [K in keyof T]: T[K] extends string ? string : Forms }
/** The words of the API, by the codes of its errors, and by the sentences about fields. */
export type Refusals = { codes: Record<string, string>; fields: [sentence: RegExp, translation: string][] }
