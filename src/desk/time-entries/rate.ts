/** The hourly rate and currency of a time entry. Pure. */

/** A place that may set a rate; null where nothing is set. */
export type RateSource = { rate: number | null; currency: string | null }

export type RateSources = {
  /** The ticket's company. */
  company: RateSource
  /** The person who logs, as a member of the organization. */
  user: RateSource
  organization: RateSource & { currency: string; time_zone: string }
}

/**
 * Chooses the explicit rate, else that of company, user or organization: the first that is set, with its currency.
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
