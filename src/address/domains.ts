/** Which company an address belongs to (decisions.md section 6). Pure. */
import { domainToASCII } from 'node:url'

const MAX_LENGTH = 253
/** Labels of letters, digits and inner hyphens, at least two of them, the last with a letter first. */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/
/** `domainToASCII` reads its text as the host of a URL: it would cut a path, decode percents and drop tabs. */
const NO_HOST = /[\s\p{C}/\\?#%@:[\]]/u

/** A domain in lower case, international ones as punycode (UTS 46); undefined when it is none. */
export function toDomain(text: string): string | undefined {
  if (text.length > MAX_LENGTH || NO_HOST.test(text)) return undefined
  const domain = domainToASCII(text)
  return domain.length <= MAX_LENGTH && DOMAIN.test(domain) ? domain : undefined
}

/** The domain of an address and the domains above it, longest first: what a company may list to own the address. */
export function domainsOf(email: string): string[] {
  const domain = toDomain(email.slice(email.lastIndexOf('@') + 1))
  if (!domain) return []
  const labels = domain.split('.')
  return labels.map((_, index) => labels.slice(index).join('.'))
}

type Owner = { id: string; domains: string[] }

/**
 * A function from an address to the id of its company: that with the longest matching domain, of equal ones the oldest.
 * @param companies oldest first
 */
export function ownersOf(companies: Owner[]): (email: string) => string | undefined {
  const owners = new Map<string, string>()
  for (const { id, domains } of companies) {
    for (const domain of domains) if (!owners.has(domain)) owners.set(domain, id)
  }
  return (email) => {
    const domain = domainsOf(email).find((candidate) => owners.has(candidate))
    return domain && owners.get(domain)
  }
}
