/** The hourly rate and currency of a time entry. Pure. */

/** Where a rate may come from; null where nothing is set. */
export type RateSource = { rate: number | null; currency: string | null }

export type RateSources = {
  /** Of the ticket. */
  company: RateSource
  /** Of who logs, as a member of the organization. */
  user: RateSource
  organization: RateSource & { currency: string }
}

/**
 * The explicit rate, else that of the company, the user, the organization: the first that is set, with its currency.
 * An explicit rate is in the company's currency. A source without a currency has the organization's.
 */
export function resolveRate(
  explicit: number | undefined,
  { company, user, organization }: RateSources,
): { rate: number | null; currency: string } {
  if (explicit !== undefined) return { rate: explicit, currency: company.currency ?? organization.currency }
  const source = [company, user, organization].find(({ rate }) => rate !== null)
  return { rate: source?.rate ?? null, currency: source?.currency ?? organization.currency }
}
