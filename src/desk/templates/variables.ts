/** Variables of prepared texts: `{{ticket.code}}` and others. Pure. */
import { isHtml, textToPre } from '../../base/html/body'
import { escapeHtml } from '../../base/html/text'

export const VARIABLES = [
  ...(['ticket.code', 'ticket.subject', 'contact.name', 'contact.email'] as const),
  ...(['company.name', 'user.name', 'organization.name'] as const),
] as const

/** The values of the variables; null, and so empty, for what is absent. */
export type Values = Record<(typeof VARIABLES)[number], string | null>

const VARIABLE = /\{\{([^{}]*)\}\}/g

/** The words for a text that names another variable. */
export const UNKNOWN_VARIABLE = `must name no variables but ${VARIABLES.map((name) => `{{${name}}}`).join(', ')}`

/** True when a text names no variable that is unknown. */
export function hasKnownVariables(template: string): boolean {
  return [...template.matchAll(VARIABLE)].every(([, name]) => isVariable(name!.trim()))
}

/**
 * Puts values in the place of variables, once: a value that names a variable stays as it is. In HTML they are escaped.
 * A text that a value would turn into HTML becomes HTML that shows it as text.
 */
export function expand(template: string, values: Values): string {
  const is_html = isHtml(template)
  const expanded = template.replace(VARIABLE, (written, inner: string) => {
    const name = inner.trim()
    if (!isVariable(name)) return written
    const value = values[name] ?? ''
    return is_html ? escapeHtml(value).replaceAll("'", '&#39;') : value
  })
  return is_html || !isHtml(expanded) ? expanded : textToPre(expanded)
}

function isVariable(name: string): name is keyof Values {
  return VARIABLES.some((known) => known === name)
}
