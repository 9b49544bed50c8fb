/** Domains of companies, and the company to which a domain leads. Pure. */
import { domainToASCII } from 'node:url'

const MAX_LENGTH = 253
/** Labels of letters, digits and inner hyphens, at least two of them, the last with a letter first. */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/
/** `domainToASCII` reads its text as the host of a URL: it would cut a path, decode percents and drop tabs. */
const NO_HOST = /[\s\p{C}/\\?#%@:[\]]/u

/** The domain in lower case, an international one as Punycode (UTS 46); undefined for text that is no domain. */
export function toDomain(text: string): string | undefined {
  if (text.length > MAX_LENGTH || NO_HOST.test(text)) return undefined
  const domain = domainToASCII(text)
  return domain.length <= MAX_LENGTH && DOMAIN.test(domain) ? domain : undefined
}

/**
 * The domain of an address, or a domain itself, and the domains above it, longest first. A company that lists one of
 * them owns the address: a subdomain counts, a domain that only ends in the same letters does not (`notacme.com` is not
 * `acme.com`).
 */
export function domainsOf(address: string): string[] {
  const domain = toDomain(address.slice(address.lastIndexOf('@') + 1))
  if (!domain) return []
  const labels = domain.split('.')
  return labels.map((_, index) => labels.slice(index).join('.'))
}

type Owner = { id: string; domains: string[] }

/**
 * Makes a function that gives the id of the company to which an address belongs: the one with the longest matching
 * domain, of equal ones the oldest.
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
