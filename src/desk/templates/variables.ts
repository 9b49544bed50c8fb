/** Variables of prepared texts: `{{ticket.code}}` and others. Pure. */
import type { Format } from '../../base/html/formats'
import { escapeHtml } from '../../base/html/text'

export const VARIABLES = [
  ...(['ticket.code', 'ticket.subject', 'contact.name', 'contact.email'] as const),
  ...(['company.name', 'user.name', 'organization.name'] as const),
] as const

/** The values of the variables; null, and so empty, for what is absent. */
export type Values = Record<(typeof VARIABLES)[number], string | null>

/** The variables of the name that stands in From. */
export const FROM_VARIABLES = ['user.name', 'mailbox.name', 'organization.name'] as const

const VARIABLE = /\{\{([^{}]*)\}\}/g

/** The words for a text that names another variable. */
export function unknownVariable(known: readonly string[] = VARIABLES): string {
  return `must name no variables but ${known.map((name) => `{{${name}}}`).join(', ')}`
}

/** Tells texts that name no variable but those that are known. */
export function namesOnly(known: readonly string[]): (template: string) => boolean {
  return (template) => [...template.matchAll(VARIABLE)].every(([, name]) => known.includes(name!.trim()))
}

/**
 * Puts values in the place of variables, once: a value that names a variable stays as it is. In HTML they are escaped.
 */
export function expand(template: string, values: { [name: string]: string | null }, format: Format): string {
  return template.replace(VARIABLE, (written, inner: string) => {
    const name = inner.trim()
    if (!Object.hasOwn(values, name)) return written
    const value = values[name] ?? ''
    return format === 'html' ? escapeHtml(value).replaceAll("'", '&#39;') : value
  })
}
