"""Operations on rows that objectives and regimes share."""
