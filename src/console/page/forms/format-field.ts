/** The choice of the form of a text that is typed in a plain field of a form. */
import { t } from '../words/catalogue'
import type { Body, Spec } from './spec'

/** Plain text, unless HTML is chosen. */
export function formatSpec(name: string): Spec {
  const options = (['text', 'html'] as const).map((value) => ({ value, text: t(`form.format_${value}`) }))
  return { kind: 'choice', name, label: t('form.format'), hint: t('form.format_hint'), options }
}

/** Says the form with each text that is sent: without it the service would guess. @param one as it is kept */
export function withFormat(body: Body, [text, format]: [string, string], one: object | undefined): Body {
  if (body[text] === undefined) return body
  return { ...body, [format]: body[format] ?? (one as Body | undefined)?.[format] ?? 'text' }
}
