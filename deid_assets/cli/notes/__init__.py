"""Commands that de-identify notes, and compare, explain and refill what came out."""
